// Editing functions that several normalisers share.
#pragma once

#include <optional>
#include <string_view>

#include "weft/core/export.h"
#include "weft/models/text/tokenizers/base/split_text.h"
#include "weft/models/text/unicode/characters.h"

namespace WEFT_API weft {
namespace normalizers {

/// Returns the offset of the first character in `text` for which `changes` returns true, or the
/// size of `text` if there is none.
template <class ChangesCharacter>
std::size_t find_character(std::string_view text, const ChangesCharacter& changes) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t next = at;
    if (changes(take_character(text, next))) break;
    at = next;
  }
  return at;
}

/// Calls `write(edit, c)` for each character of each part for which `changes` returns true. Other
/// characters are kept. `write` must consume the character.
template <class ChangesCharacter, class Write>
void change_characters(SplitText& parts, const ChangesCharacter& changes, const Write& write) {
  parts.rewrite([&](std::string_view text) { return find_character(text, changes) < text.size(); },
                [&](TextEdit& edit) {
                  while (!edit.at_end()) {
                    edit.keep(find_character(edit.rest(), changes));
                    if (!edit.at_end()) write(edit, character_at(edit.rest(), 0));
                  }
                });
}

/// Replaces each character with map(c), or removes it if the result is std::nullopt.
template <class Map>
void map_characters(SplitText& parts, const Map& map) {
  change_characters(
      parts, [&](char32_t c) { return map(c) != std::optional<char32_t>(c); },
      [&](TextEdit& edit, char32_t c) {
        if (const std::optional<char32_t> mapped = map(c)) {
          edit.replace(*mapped);
        } else {
          edit.drop(encoded_size(c));
        }
      });
}

/// Converts every part to lower case.
void lower(SplitText& parts);

}  // namespace normalizers
}  // namespace weft
