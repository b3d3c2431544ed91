#include "weft/models/data/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>

#include "weft/core/error.h"

namespace weft {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;  // inflateInit2: a gzip header, not zlib's

struct EndInflate {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};

/// Unpacks until the end, or until there are more than `enough` bytes.
std::string inflate_until(std::string_view bytes, std::string_view name, std::uint64_t enough) {
  z_stream stream = {};
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) throw StateError("zlib cannot start");
  const std::unique_ptr<z_stream, EndInflate> guard(&stream);
  const auto fail = [&](std::string_view what) {
    throw FormatError(fmt::format("{}: {} at byte {} of the gzip file", name, what,
                                  bytes.size() - stream.avail_in));
  };
  std::string out;
  std::array<char, 1 << 16> block;
  // zlib does not write to its input.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  std::size_t given = 0;
  int state = Z_OK;
  while (true) {
    if (stream.avail_in == 0 && given < bytes.size()) {
      const std::size_t more = std::min<std::size_t>(bytes.size() - given, 1 << 30);
      stream.avail_in = static_cast<uInt>(more);
      given += more;
    }
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    state = inflate(&stream, Z_NO_FLUSH);
    if (state == Z_MEM_ERROR) throw StateError(fmt::format("{}: out of memory", name));
    out.append(block.data(), block.size() - stream.avail_out);
    if (out.size() > enough) return out;
    if (state == Z_STREAM_END) {
      if (stream.avail_in == 0 && given == bytes.size()) return out;
      if (inflateReset(&stream) != Z_OK) throw StateError("zlib cannot go on");  // another member
      continue;
    }
    if (state == Z_BUF_ERROR && stream.avail_in == 0 && given == bytes.size())
      fail("the file ends too early,");
    if (state != Z_OK && state != Z_BUF_ERROR)
      fail(stream.msg != nullptr ? stream.msg : "damaged data");
  }
}

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string gunzip(std::string_view bytes, std::string_view name, std::uint64_t most_bytes) {
  std::string out = inflate_until(bytes, name, most_bytes);
  if (out.size() > most_bytes) {
    throw FormatError(
        fmt::format("{}: the gzip file has more than {} bytes when unpacked", name, most_bytes));
  }
  return out;
}

std::string gunzip_start(std::string_view bytes, std::string_view name, std::size_t bytes_wanted) {
  std::string out = inflate_until(bytes, name, bytes_wanted);
  out.resize(std::min(out.size(), bytes_wanted));
  return out;
}

}  // namespace weft
