#include "weft/models/text/tokenizers/pre_tokenizers/character_class.h"

#include <algorithm>

#include "weft/models/text/unicode/properties.h"

namespace weft::pre_tokenizers {
namespace {

CharacterClass class_of(char32_t c) {
  if (is_letter(c)) return CharacterClass::letter;
  if (is_numeric(c)) return CharacterClass::number;
  if (is_white_space(c)) return CharacterClass::blank;
  return CharacterClass::other;
}

}  // namespace

CharacterClasses::CharacterClasses() {
  std::array<std::uint8_t, 256> page{};
  for (std::size_t number = 0; number < pages_.size(); ++number) {
    for (std::size_t i = 0; i < page.size(); ++i)
      page[i] = static_cast<std::uint8_t>(class_of(static_cast<char32_t>(number * 256 + i)));
    std::size_t same = 0;
    while (same * 256 < classes_.size() &&
           !std::equal(page.begin(), page.end(),
                       classes_.begin() + static_cast<std::ptrdiff_t>(same * 256)))
      ++same;
    if (same * 256 == classes_.size()) classes_.insert(classes_.end(), page.begin(), page.end());
    pages_[number] = static_cast<std::uint16_t>(same);
  }
}

const CharacterClasses& CharacterClasses::get() {
  static const CharacterClasses classes;
  return classes;
}

}  // namespace weft::pre_tokenizers
