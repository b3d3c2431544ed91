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

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string gunzip(std::string_view bytes, std::string_view name, std::uint64_t most_bytes) {
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
    out.append(block.data(), block.size() - stream.avail_out);
    if (out.size() > most_bytes) fail(fmt::format("more than {} bytes when unpacked,", most_bytes));
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

}  // namespace weft
