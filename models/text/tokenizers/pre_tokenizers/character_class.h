// The character classes used by well-known split patterns: letters, numbers, whitespace and all
// other characters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/text/unicode/characters.h"

namespace WEFT_API weft {
namespace pre_tokenizers {

enum class CharacterClass : std::uint8_t { other, letter, number, blank };

/// A table with the classes of all characters, in pages of 256. Identical pages are stored once.
class CharacterClasses {
 public:
  /// Returns the table that is based on the Unicode data of the ICU library.
  static const CharacterClasses& get();

  CharacterClass operator[](char32_t c) const {
    return static_cast<CharacterClass>(classes_[(std::size_t{pages_[c >> 8]} << 8) | (c & 0xFF)]);
  }

 private:
  CharacterClasses();

  std::array<std::uint16_t, 0x1100> pages_{};
  std::vector<std::uint8_t> classes_;
};

/// Returns the class of the character at byte `at`. `text` must be valid UTF-8.
inline CharacterClass class_at(std::string_view text, std::size_t at) {
  return CharacterClasses::get()[character_at(text, at)];
}

/// Returns the end of the run of characters of class `kind` that starts at `at`.
inline std::size_t end_of_run(std::string_view text, std::size_t at, CharacterClass kind) {
  const CharacterClasses& classes = CharacterClasses::get();
  while (at < text.size() && classes[character_at(text, at)] == kind)
    at += character_size(text[at]);
  return at;
}

}  // namespace pre_tokenizers
}  // namespace weft
