#include "weft/models/text/tokenizers/train/text_source.h"

#include "weft/models/text/unicode/properties.h"
#include "weft/models/text/unicode/utf8.h"

namespace weft {
namespace {

/// Returns true if a whitespace character starts at `at`. Invalid UTF-8 is not whitespace.
bool is_white_at(std::string_view text, std::size_t at) {
  return examine_character(text, at) > 0 && is_white_space(next_code_point(text, at));
}

/// Returns the start of the character that ends at `end`.
std::size_t character_begin(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && end - at < 4 && is_continuation(text[at])) --at;
  return at;
}

}  // namespace

std::size_t end_of_part(std::string_view text) {
  std::size_t line = std::string_view::npos;
  for (std::size_t at = text.size(); (at = text.rfind('\n', at)) != std::string_view::npos; --at) {
    const std::size_t behind = at + 1;
    if (line == std::string_view::npos) line = behind;
    if (at > 0 && behind < text.size() && !is_white_at(text, behind) &&
        !is_white_at(text, character_begin(text, at)))
      return behind;
    if (at == 0) break;
  }
  if (line != std::string_view::npos) return line;
  if (const std::size_t blank = text.rfind(' ');
      blank != std::string_view::npos && blank > 0 && text[blank - 1] != ' ')
    return blank;
  const std::size_t whole = text.size() - unfinished_bytes(text);
  return whole == 0 ? text.size() : whole;
}

bool TextList::next(std::string& part) {
  while (text_ < texts_.size() && begin_ == texts_[text_].size()) {
    ++text_;
    begin_ = 0;
  }
  if (text_ == texts_.size()) return false;
  const std::string_view rest = std::string_view(texts_[text_]).substr(begin_);
  const std::size_t size =
      rest.size() <= kTextPartBytes ? rest.size() : end_of_part(rest.substr(0, kTextPartBytes));
  part.assign(rest.substr(0, size));
  begin_ += size;
  return true;
}

}  // namespace weft
