// A text that is changed on its way to ids, and the bytes of the input that each byte came from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/tokenizers/unicode/span.h"

namespace WEFT_API weft {

/// Valid UTF-8 and its alignment with an input. As long as each byte stands where it stood in the
/// input, the alignment takes no room.
class AlignedText {
 public:
  AlignedText() = default;
  AlignedText(const AlignedText&) = delete;
  AlignedText& operator=(const AlignedText&) = delete;

  /// Begins with `input`, valid UTF-8 of less than 4 GiB, which must outlive the object (nothing is
  /// copied). Throws DataError for a longer one.
  void assign(std::string_view input);
  /// Begins with `text`, whose bytes came from `spans` of an input.
  void assign(std::string text, std::vector<Span> spans);

  std::string_view text() const { return text_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(text_.size()); }
  /// True while each byte stands where it stood in the input.
  bool in_place() const { return in_place_; }
  /// The bytes of the input that the bytes [begin, end) came from, which are whole characters.
  Span source(std::uint32_t begin, std::uint32_t end) const;

 private:
  friend class TextEdit;

  Span source_of_byte(std::uint32_t at) const;

  std::string_view text_;  // the input, or buffer_
  std::string buffer_, spare_buffer_;
  std::vector<Span> spans_, spare_spans_;  // of each byte where not in place
  bool in_place_ = true;
};

/// One pass over a text that writes another. Parts of the old text are gone through one after
/// another; what is in none of them is left out.
class TextEdit {
 public:
  explicit TextEdit(AlignedText& text);

  /// Goes to the bytes [begin, end) of the old text.
  void begin_part(std::uint32_t begin, std::uint32_t end);
  /// What is left of the part.
  std::string_view rest() const { return old_.substr(cursor_, end_ - cursor_); }
  std::string_view part() const { return old_.substr(begin_, end_ - begin_); }
  bool at_end() const { return cursor_ == end_; }
  /// True while nothing of the part has been kept, replaced or left out.
  bool at_part_begin() const { return cursor_ == begin_; }
  /// True where the part stands at the very beginning of the input.
  bool at_input_begin() const;

  /// Takes over the next `bytes`.
  void keep(std::size_t bytes);
  void keep_rest() { keep(end_ - cursor_); }
  /// Leaves out the next `bytes`.
  void drop(std::size_t bytes) { cursor_ += static_cast<std::uint32_t>(bytes); }
  /// Writes `c` in place of the next character.
  void replace(char32_t c);
  /// Writes `c` as well: it comes from where the character before it came from.
  void add(char32_t c);
  void add(std::string_view text);
  /// `text` in front of the part: it comes from where the next character comes from.
  void prepend(std::string_view text);

  /// Bytes written so far.
  std::uint32_t size() const { return static_cast<std::uint32_t>(written_.size()); }
  /// The text is what was written.
  void finish();

 private:
  void write(std::string_view bytes, Span span);
  void write(char32_t c, Span span);
  void leave_place();

  AlignedText& aligned_;
  std::string_view old_;
  std::string& written_;
  std::vector<Span>& spans_;
  std::uint32_t begin_ = 0, cursor_ = 0, end_ = 0;
  bool in_place_;
};

}  // namespace weft
