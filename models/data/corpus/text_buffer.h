// A text that is read as it is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/models/data/corpus/byte_stream.h"

namespace WEFT_API weft {

/// The part of a text file that is looked at, and where it stands. A byte-order mark in front is
/// left out; UTF-16 and UTF-32 are refused.
class TextBuffer {
 public:
  /// Throws as ByteStream, FormatError for UTF-16 and UTF-32.
  explicit TextBuffer(const std::string& path);

  const std::string& path() const { return stream_.path(); }
  /// What was read and not consumed.
  std::string_view text() const { return std::string_view(buffer_).substr(begin_); }
  /// Reads a further block; false at the end of the file.
  bool more();
  /// The line that text() begins with, read as a whole, without its line feed: consume() takes it
  /// and one byte more, where there is one. Nothing at the end of the file. Throws FormatError for
  /// a line of more than `most_bytes`.
  std::optional<std::string_view> whole_line(std::size_t most_bytes);
  /// "FILE, line 3 (byte 120): what": of the place `at` bytes behind the beginning of text().
  [[noreturn]] void fail(std::size_t at, std::string_view what) const;
  /// Goes behind the first `bytes` of text().
  void consume(std::size_t bytes);

  /// Of the beginning of text(): its line, from 1, and its byte, both in the unpacked file.
  std::int64_t line() const { return line_; }
  std::uint64_t offset() const { return offset_; }
  /// Bytes of the file that were read, packed as they are.
  std::uint64_t bytes_read() const { return stream_.bytes_read(); }

  /// Checks the first `bytes` of text(). Throws FormatError with file, line and byte where they are
  /// not UTF-8.
  void check_utf8(std::size_t bytes) const;

 private:
  ByteStream stream_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::int64_t line_ = 1;
  std::uint64_t offset_ = 0;
};

}  // namespace weft
