// A text that is rewritten before tokenization and remains aligned with the bytes of the original
// input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/text/unicode/span.h"

namespace WEFT_API weft {

/// Valid UTF-8 text and its alignment with an input. As long as each byte is at its original
/// offset, no alignment is stored.
class AlignedText {
 public:
  AlignedText() = default;
  AlignedText(const AlignedText&) = delete;
  AlignedText& operator=(const AlignedText&) = delete;

  /// Sets the text to `input`, which must be valid UTF-8 of less than 4 GiB. The input is not
  /// copied and must outlive the object. Throws DataError if it is too long.
  void assign(std::string_view input);
  /// Sets the text to `text`. `spans` contains the corresponding input bytes for each byte.
  void assign(std::string text, std::vector<Span> spans);

  std::string_view text() const { return text_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(text_.size()); }
  /// Returns true if each byte is at its original offset in the input.
  bool in_place() const { return in_place_; }
  /// Returns the input bytes that correspond to the bytes [begin, end), extended to whole
  /// characters.
  Span source(std::uint32_t begin, std::uint32_t end) const;

 private:
  friend class TextEdit;

  Span source_of_byte(std::uint32_t at) const;

  std::string_view text_;  // a view of the input or of buffer_
  std::string buffer_, spare_buffer_;
  std::vector<Span> spans_, spare_spans_;  // source spans of the bytes; unused if in_place_
  bool in_place_ = true;
};

/// Rewrites a text in a single pass. The caller visits parts of the old text in order; bytes
/// outside these parts are dropped.
class TextEdit {
 public:
  explicit TextEdit(AlignedText& text);

  /// Starts the part that consists of bytes [begin, end) of the old text.
  void begin_part(std::uint32_t begin, std::uint32_t end);
  /// Returns the part of the text that has not been read yet.
  std::string_view rest() const { return old_.substr(cursor_, end_ - cursor_); }
  std::string_view part() const { return old_.substr(begin_, end_ - begin_); }
  bool at_end() const { return cursor_ == end_; }
  /// Returns true if nothing in the part has been kept, replaced or dropped yet.
  bool at_part_begin() const { return cursor_ == begin_; }
  /// Returns true if the part starts at offset 0 of the input.
  bool at_input_begin() const;

  /// Copies the next `bytes` bytes.
  void keep(std::size_t bytes);
  void keep_rest() { keep(end_ - cursor_); }
  /// Skips the next `bytes` bytes.
  void drop(std::size_t bytes) { cursor_ += static_cast<std::uint32_t>(bytes); }
  /// Replaces the next character with `c`.
  void replace(char32_t c);
  /// Inserts `c`. It has the source span of the preceding character in the part, or an empty span
  /// at the start of a part.
  void add(char32_t c);
  void add(std::string_view text);
  /// Inserts `text` before the part. It has the source span of the next character.
  void prepend(std::string_view text);

  /// Returns the number of bytes written so far.
  std::uint32_t size() const { return static_cast<std::uint32_t>(written_.size()); }
  /// Replaces the text with the written text.
  void finish();

 private:
  void write(std::string_view bytes, Span span);
  void write(char32_t c, Span span);
  void record_spans();

  AlignedText& aligned_;
  std::string_view old_;
  std::string& written_;
  std::vector<Span>& spans_;
  std::uint32_t begin_ = 0, cursor_ = 0, end_ = 0;
  bool in_place_;
};

}  // namespace weft
