#include "weft/models/tokenizers/normalizers/precompiled_map.h"

#include <algorithm>

#include "weft/models/tokenizers/unicode/characters.h"
#include "weft/models/tokenizers/unicode/graphemes.h"

namespace weft::normalizers {
namespace {

// Rules apply to whole graphemes of fewer bytes than this, else to single characters.
constexpr std::size_t kLongGrapheme = 6;

/// Writes `text` in place of the next `count` characters. Characters that are more than these come
/// from the last of them.
void write(TextEdit& edit, std::string_view text, std::size_t count) {
  const bool first = edit.at_part_begin();
  std::size_t replaced = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = take_character(text, at);
    if (replaced < count && !edit.at_end()) {
      edit.replace(c);
      ++replaced;
    } else {
      edit.add(c);
    }
  }
  // The library whose offsets are the standard forgets what goes at the very beginning: what comes
  // behind it takes its places.
  if (text.empty() && first) return;
  for (; replaced < count && !edit.at_end(); ++replaced)
    edit.drop(character_size(edit.rest().front()));
}

}  // namespace

void Precompiled::normalise(PartedText& parts) const {
  const auto changes = [this](std::string_view text) {
    return !std::all_of(text.begin(), text.end(),
                        [this](char c) { return map_.keeps_ascii(static_cast<unsigned char>(c)); });
  };
  parts.rewrite(changes, [this](TextEdit& edit) {
    for_each_grapheme(edit.part(), [&](std::string_view grapheme) {
      if (grapheme.size() < kLongGrapheme) {
        if (const auto replacement = map_.shortest(grapheme))
          return write(edit, *replacement, count_characters(grapheme));
      }
      for (std::size_t at = 0; at < grapheme.size();) {
        const std::string_view character = grapheme.substr(at, character_size(grapheme[at]));
        at += character.size();
        write(edit, map_.shortest(character).value_or(character), 1);
      }
    });
  });
}

}  // namespace weft::normalizers
