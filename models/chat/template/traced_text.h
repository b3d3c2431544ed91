// A text that knows where each of its bytes came from.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/chat/origin.h"
#include "weft/models/tokenizers/unicode/characters.h"

namespace weft::chat {

/// UTF-8 and the origins of its bytes. What is cut out, put together or changed character by
/// character keeps them.
class TracedText {
 public:
  TracedText() = default;
  explicit TracedText(std::string text, Origin origin = {});

  const std::string& text() const { return text_; }
  /// In order, no empty ones, no two side by side of one origin.
  const std::vector<TextRun>& runs() const { return runs_; }
  std::size_t size() const { return text_.size(); }
  bool empty() const { return text_.empty(); }
  /// Bytes of memory, about.
  std::size_t footprint() const { return text_.size() + runs_.size() * sizeof(TextRun); }

  void append(std::string_view text, Origin origin = {});
  void append(const TracedText& other);
  /// Bytes [begin, end) of `other`.
  void append(const TracedText& other, std::size_t begin, std::size_t end);
  TracedText part(std::size_t begin, std::size_t end) const;
  /// Says of all bytes that a model is to write them.
  void set_generated();

  /// write(character, begin, out) writes what a character, which begins at byte `begin`, becomes:
  /// that has its origin.
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
