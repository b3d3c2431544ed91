#include "weft/models/text/tokenizers/normalizers/characters.h"

#include "weft/models/text/tokenizers/normalizers/edits.h"
#include "weft/models/text/unicode/properties.h"

namespace weft::normalizers {
namespace {

/// The only character whose lower-case form consists of two characters.
constexpr char32_t kDottedI = 0x130;
constexpr char32_t kDotAbove = 0x307;

}  // namespace

void lower(SplitText& parts) {
  change_characters(
      parts, [](char32_t c) { return lower_case(c) != c; },
      [](TextEdit& edit, char32_t c) {
        edit.replace(lower_case(c));
        if (c == kDottedI) edit.add(kDotAbove);
      });
}

void Lowercase::normalise(SplitText& parts) const { lower(parts); }

void StripAccents::normalise(SplitText& parts) const {
  map_characters(parts, [](char32_t c) {
    return is_mark(c) ? std::optional<char32_t>() : std::optional<char32_t>(c);
  });
}

void Strip::normalise(SplitText& parts) const {
  const auto kept = [this](std::string_view text) {
    std::size_t begin = 0, end = text.size();
    if (left_) {
      for (std::size_t next = begin; next < end; begin = next)
        if (!is_white_space(take_character(text, next))) break;
    }
    if (right_) {
      while (end > begin && is_white_space(character_before(text, end))) {
        do --end;
        while (is_continuation(text[end]));
      }
    }
    return std::pair(begin, end);
  };
  parts.rewrite(
      [&](std::string_view text) { return kept(text) != std::pair(std::size_t{0}, text.size()); },
      [&](TextEdit& edit) {
        const auto [begin, end] = kept(edit.part());
        edit.drop(begin);
        edit.keep(end - begin);
      });
}

std::optional<char32_t> nmt(char32_t c) {
  if ((c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F ||
      c == 0x9F)
    return std::nullopt;
  if (c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
      c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD)
    return U' ';
  return c;
}

void Nmt::normalise(SplitText& parts) const { map_characters(parts, nmt); }

}  // namespace weft::normalizers
