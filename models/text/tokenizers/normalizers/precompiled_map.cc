#include "weft/models/text/tokenizers/normalizers/precompiled_map.h"

#include "weft/models/text/tokenizers/normalizers/edits.h"
#include "weft/models/text/unicode/characters.h"
#include "weft/models/text/unicode/graphemes.h"
#include "weft/models/text/unicode/utf8.h"

namespace weft::normalizers {
namespace {

// Rules are applied to grapheme clusters with fewer bytes than this as a whole. In longer clusters,
// they are applied to single characters.
constexpr std::size_t kLongGrapheme = 6;

/// Replaces the next `count` characters with `text`. If `text` has more characters, the additional
/// ones have the source span of the last replaced character.
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
  // Hugging Face's tokenizers library, the reference implementation for offsets, ignores removals
  // at the very start of a part. The following text therefore takes over the spans of the removed
  // characters.
  if (text.empty() && first) return;
  for (; replaced < count && !edit.at_end(); ++replaced)
    edit.drop(character_size(edit.rest().front()));
}

}  // namespace

void Precompiled::prepare() {
  constexpr std::size_t kBmp = 0x10000;
  map_ = PrecompiledMap::parse(blob_.bytes);
  stays_.assign(kBmp, false);
  for (std::size_t c = 0; c < kBmp; ++c) {
    const auto character = static_cast<char32_t>(c);
    stays_[c] = stands_alone(character) && !map_.has_rule_from(utf8(character));
  }
}

bool Precompiled::stays(char32_t c) const { return c < stays_.size() && stays_[c]; }

void Precompiled::normalise(SplitText& parts) const {
  const auto changes = [this](std::string_view text) {
    return find_character(text, [this](char32_t c) { return !stays(c); }) < text.size();
  };
  Graphemes graphemes;
  const auto write_grapheme = [this](TextEdit& edit, std::string_view grapheme) {
    if (grapheme.size() < kLongGrapheme) {
      if (const auto replacement = map_.shortest(grapheme))
        return write(edit, *replacement, count_characters(grapheme));
    }
    for (std::size_t at = 0; at < grapheme.size();) {
      const std::string_view character = grapheme.substr(at, character_size(grapheme[at]));
      at += character.size();
      write(edit, map_.shortest(character).value_or(character), 1);
    }
  };
  // Most characters form a grapheme cluster on their own and have no rule. Only the other
  // characters are passed to ICU, together with neighbours that may belong to the same cluster.
  const auto rewrite = [&](TextEdit& edit) {
    const std::string_view text = edit.part();
    const auto alone = [&](std::size_t at) {
      return at == text.size() || stands_alone(character_at(text, at));
    };
    const auto keep = [&](std::string_view part) {
      // After an ignored removal, the position of the edit differs from the position in `text`.
      if (edit.rest().data() == part.data()) return edit.keep(part.size());
      for (std::size_t at = 0; at < part.size();) {
        const std::string_view character = part.substr(at, character_size(part[at]));
        at += character.size();
        write(edit, character, 1);
      }
    };
    for (std::size_t done = 0; done < text.size();) {
      std::size_t last = done, at = done;  // offsets of the previous and current character
      while (at < text.size() && stays(character_at(text, at))) {
        last = at;
        at += character_size(text[at]);
      }
      if (at == text.size()) return keep(text.substr(done));
      std::size_t c = at, end = at + character_size(text[at]);
      while (end < text.size() && !(alone(c) && alone(end))) {
        c = end;
        end += character_size(text[end]);
      }
      if (c == at && alone(at)) {
        keep(text.substr(done, at - done));
        write_grapheme(edit, text.substr(at, end - at));
      } else {
        keep(text.substr(done, last - done));
        graphemes.visit(text.substr(last, end - last),
                        [&](std::string_view grapheme) { write_grapheme(edit, grapheme); });
      }
      done = end;
    }
  };
  parts.rewrite(changes, rewrite);
}

}  // namespace weft::normalizers
