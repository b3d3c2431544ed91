// Text that stores the origin of each byte.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/text/jinja/message_origin.h"
#include "weft/models/text/unicode/characters.h"

namespace weft::chat {

/// UTF-8 text together with the origins of its bytes. Slicing, concatenation and character-wise
/// changes preserve the origins.
class TracedText {
 public:
  TracedText() = default;
  explicit TracedText(std::string text, Origin origin = {});

  const std::string& text() const { return text_; }
  /// The runs in order. Runs are not empty, and adjacent runs have different origins.
  const std::vector<TextRun>& runs() const { return runs_; }
  std::size_t size() const { return text_.size(); }
  bool empty() const { return text_.empty(); }
  /// Approximate memory usage in bytes.
  std::size_t footprint() const { return text_.size() + runs_.size() * sizeof(TextRun); }

  void append(std::string_view text, Origin origin = {});
  void append(const TracedText& other);
  /// Appends bytes [begin, end) of `other`.
  void append(const TracedText& other, std::size_t begin, std::size_t end);
  TracedText part(std::size_t begin, std::size_t end) const;
  /// Marks all bytes as model-generated text.
  void set_generated();

  /// Maps each character. write(character, begin, out) appends the replacement for the character at
  /// byte `begin` to `out`. The replacement has the same origin as the character.
  template <class Write>
  TracedText mapped(const Write& write) const {
    TracedText result;
    std::string out;
    std::size_t run = 0;
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t begin = at;
      const char32_t c = take_character(text_, at);
      while (runs_[run].end <= begin) ++run;
      out.clear();
      write(c, begin, out);
      result.append(out, runs_[run].origin);
    }
    return result;
  }

 private:
  std::string text_;
  std::vector<TextRun> runs_;
};

}  // namespace weft::chat
