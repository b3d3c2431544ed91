// A text file that is read incrementally.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/models/text/corpus/byte_stream.h"

namespace WEFT_API weft {

/// A window of a text file with its position in the file. A UTF-8 byte-order mark at the start of
/// the file is skipped; UTF-16 and UTF-32 are rejected.
class TextBuffer {
 public:
  /// Throws the same errors as ByteStream. Throws FormatError if the file is UTF-16 or UTF-32.
  explicit TextBuffer(const std::string& path);

  const std::string& path() const { return stream_.path(); }
  /// The text that has been read but not consumed.
  std::string_view text() const { return std::string_view(buffer_).substr(begin_); }
  /// Reads another block. Returns false at the end of the file.
  bool more();
  /// Reads the whole line at the start of text() and returns it without its line feed. Returns
  /// std::nullopt at the end of the file. To consume the line, call consume() with its size, plus
  /// one byte for the line feed if there is one. Throws FormatError if the line is longer than
  /// `max_bytes`.
  std::optional<std::string_view> whole_line(std::size_t max_bytes);
  /// Like whole_line(), for files with one JSON object per line. Blank lines at the end of the file
  /// are consumed. Throws FormatError for a blank line that is followed by another line with text.
  std::optional<std::string_view> json_line(std::size_t max_bytes);
  /// Throws FormatError("FILE, line 3 (byte 120): what"). The reported byte offset is `at` bytes
  /// after the start of text(). The reported line is the line at the start of text().
  [[noreturn]] void fail(std::size_t at, std::string_view what) const;
  /// Removes the first `bytes` of text().
  void consume(std::size_t bytes);

  /// The line number (counted from 1) and the byte offset of the start of text() in the
  /// decompressed file.
  std::int64_t line() const { return line_; }
  std::uint64_t offset() const { return offset_; }
  /// The number of bytes read from the file so far. See ByteStream::bytes_read().
  std::uint64_t bytes_read() const { return stream_.bytes_read(); }

  /// Throws FormatError with file, line and byte offset if the first `bytes` of text() are not
  /// UTF-8.
  void check_utf8(std::size_t bytes) const;

 private:
  ByteStream stream_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::int64_t line_ = 1;
  std::uint64_t offset_ = 0;
};

}  // namespace weft
