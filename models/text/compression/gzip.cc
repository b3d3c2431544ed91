#include "weft/models/text/compression/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "weft/core/error.h"

namespace weft {
namespace {

// For inflateInit2(): accept only gzip headers, not zlib headers.
constexpr int kGzipOnly = 16 + MAX_WBITS;

class GzipDecompressor final : public Decompressor {
 public:
  explicit GzipDecompressor(std::string name) : name_(std::move(name)) {
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw StateError("zlib cannot be initialised");
  }
  ~GzipDecompressor() override { inflateEnd(&stream_); }
  GzipDecompressor(const GzipDecompressor&) = delete;
  GzipDecompressor& operator=(const GzipDecompressor&) = delete;

  Step step(const char* in, std::size_t in_bytes, char* out, std::size_t out_bytes) override {
    if (ended_) {
      if (in_bytes == 0) return {};
      if (inflateReset(&stream_) != Z_OK)
        throw StateError("zlib cannot be reset");  // start of another member
      ended_ = false;
    }
    const std::size_t given = std::min(in_bytes, kMaxStep), room = std::min(out_bytes, kMaxStep);
    // zlib does not modify its input.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in));
    stream_.avail_in = static_cast<uInt>(given);
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(room);
    const int state = inflate(&stream_, Z_NO_FLUSH);
    const Step step{given - stream_.avail_in, room - stream_.avail_out};
    taken_ += step.taken;
    if (state == Z_MEM_ERROR) throw StateError(fmt::format("{}: out of memory", name_));
    ended_ = state == Z_STREAM_END;
    if (state != Z_OK && state != Z_BUF_ERROR && !ended_)
      fail(stream_.msg != nullptr ? stream_.msg : "damaged data");
    return step;
  }

  void finish() override {
    if (!ended_) fail("unexpected end of file");
  }

 private:
  static constexpr std::size_t kMaxStep = std::size_t{1} << 30;
  [[noreturn]] void fail(std::string_view what) const {
    throw FormatError(fmt::format("{}: {} at byte {} of the gzip file", name_, what, taken_));
  }

  std::string name_;
  z_stream stream_ = {};
  bool ended_ = false;  // true at the end of a member
  std::uint64_t taken_ = 0;
};

/// Decompresses until the end of the input, or until more than `enough` bytes have been produced.
std::string inflate_until(std::string_view bytes, std::string_view name, std::uint64_t enough) {
  GzipDecompressor decompressor{std::string(name)};
  std::string out;
  std::array<char, 1 << 16> block;
  while (true) {
    const Decompressor::Step step =
        decompressor.step(bytes.data(), bytes.size(), block.data(), block.size());
    bytes.remove_prefix(step.taken);
    out.append(block.data(), step.made);
    if (out.size() > enough) return out;
    if (bytes.empty() && step.made == 0) break;
  }
  decompressor.finish();
  return out;
}

}  // namespace

std::unique_ptr<Decompressor> gzip_decompressor(std::string name) {
  return std::make_unique<GzipDecompressor>(std::move(name));
}

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string gunzip(std::string_view bytes, std::string_view name, std::uint64_t max_bytes) {
  std::string out = inflate_until(bytes, name, max_bytes);
  if (out.size() > max_bytes) {
    throw FormatError(
        fmt::format("{}: the gzip file has more than {} bytes when decompressed", name, max_bytes));
  }
  return out;
}

std::string gunzip_start(std::string_view bytes, std::string_view name, std::size_t bytes_wanted) {
  std::string out = inflate_until(bytes, name, bytes_wanted);
  out.resize(std::min(out.size(), bytes_wanted));
  return out;
}

}  // namespace weft
