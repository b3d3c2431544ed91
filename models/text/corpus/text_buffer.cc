#include "weft/models/text/corpus/text_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/text/corpus/lines.h"
#include "weft/models/text/corpus/text_file.h"
#include "weft/models/text/unicode/utf8.h"
#include "weft/serialization/files/byte_order_mark.h"

namespace weft {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 18;
constexpr std::size_t kLongestMark = 4;  // size in bytes of the longest byte-order mark

}  // namespace

TextBuffer::TextBuffer(const std::string& path) : stream_(path) {
  while (buffer_.size() < kLongestMark && more()) {
  }
  begin_ = byte_order_mark(buffer_, path);
  offset_ = begin_;
}

bool TextBuffer::more() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t there = buffer_.size();
  buffer_.resize(there + kReadBytes);
  const std::size_t got = stream_.read(buffer_.data() + there, kReadBytes);
  buffer_.resize(there + got);
  return got > 0;
}

std::optional<std::string_view> TextBuffer::whole_line(std::size_t max_bytes) {
  std::size_t end = 0, scanned = 0;
  for (bool at_end = false;;) {
    end = text().find('\n', scanned);
    if (std::min(end, text().size()) > max_bytes)
      fail(0, fmt::format("the line has more than {} bytes", max_bytes));
    if (end != std::string_view::npos) break;
    scanned = end = text().size();
    if (at_end) break;
    at_end = !more();
  }
  if (text().empty()) return std::nullopt;
  return text().substr(0, end);
}

std::optional<std::string_view> TextBuffer::json_line(std::size_t max_bytes) {
  std::optional<std::pair<std::int64_t, std::uint64_t>> blank;  // line and offset of the first one
  for (;;) {
    const auto line = whole_line(max_bytes);
    if (!line) return std::nullopt;
    if (!trimmed_line(*line).empty()) {
      if (!blank) return line;
      throw FormatError(
          fmt::format("{}, line {} (byte {}): the line is empty: each line must be a JSON object "
                      "(blank lines are allowed only at the end)",
                      path(), blank->first, blank->second));
    }
    if (!blank) blank = {line_, offset_};
    consume(std::min(line->size() + 1, text().size()));
  }
}

void TextBuffer::fail(std::size_t at, std::string_view what) const {
  throw FormatError(fmt::format("{}, line {} (byte {}): {}", path(), line(), offset() + at, what));
}

void TextBuffer::consume(std::size_t bytes) {
  const auto from = buffer_.begin() + static_cast<std::ptrdiff_t>(begin_);
  line_ += std::count(from, from + static_cast<std::ptrdiff_t>(bytes), '\n');
  begin_ += bytes;
  offset_ += bytes;
}

void TextBuffer::check_utf8(std::size_t bytes) const {
  const std::string_view part = text().substr(0, bytes);
  for (std::size_t at = 0; at < part.size();) {
    if (static_cast<unsigned char>(part[at]) < 0x80) {  // the most frequent case
      ++at;
      continue;
    }
    const int size = examine_character(part, at);
    if (size <= 0) {
      const auto line =
          line_ + std::count(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      throw FormatError(
          fmt::format("{}, line {}: not UTF-8: invalid sequence at byte {} (0x{:02x})", path(),
                      line, offset_ + at, static_cast<unsigned char>(part[at])));
    }
    at += static_cast<std::size_t>(size);
  }
}

}  // namespace weft
