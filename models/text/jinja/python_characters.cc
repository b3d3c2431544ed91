#include "weft/models/text/jinja/python_characters.h"

#include <unicode/uchar.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "weft/models/text/unicode/characters.h"
#include "weft/models/text/unicode/properties.h"
#include "weft/models/text/unicode/utf8.h"

namespace weft::chat {
namespace {

enum class Case : std::uint8_t { upper, lower, title };

/// Appends the case mapping of one character, independently of its context.
void append_case(std::string& out, char32_t c, Case wanted) {
  if (c < 0x80) {
    const auto byte = static_cast<char>(c);
    if (wanted == Case::lower) {
      out += byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + 'a' - 'A') : byte;
    } else {
      out += byte >= 'a' && byte <= 'z' ? static_cast<char>(byte - 'a' + 'A') : byte;
    }
    return;
  }
  std::array<UChar, 2> from = {};
  std::array<UChar, 16> to = {};
  std::int32_t length = 0;
  U16_APPEND_UNSAFE(from, length, static_cast<UChar32>(c));
  UErrorCode status = U_ZERO_ERROR;
  const auto room = static_cast<std::int32_t>(to.size());
  std::int32_t size = 0;
  if (wanted == Case::upper) {
    size = u_strToUpper(to.data(), room, from.data(), length, "", &status);
  } else if (wanted == Case::lower) {
    size = u_strToLower(to.data(), room, from.data(), length, "", &status);
  } else {
    size = u_strToTitle(to.data(), room, from.data(), length, nullptr, "", &status);
  }
  if (U_FAILURE(status) != 0 || size > room) {
    append_utf8(out, c);
    return;
  }
  for (std::int32_t at = 0; at < size;) {
    UChar32 next = 0;
    U16_NEXT(to, at, size, next);
    append_utf8(out, static_cast<char32_t>(next));
  }
}

void append_lower(std::string& out, char32_t c, std::string_view text, std::size_t begin) {
  if (c == U'\u03A3') {
    append_utf8(out, is_final_sigma(text, begin) ? U'\u03C2' : U'\u03C3');
  } else {
    append_case(out, c, Case::lower);
  }
}

}  // namespace

bool is_printable(char32_t c) {
  if (c == U' ') return true;
  constexpr std::uint32_t kUnprinted =
      U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CS_MASK | U_GC_CO_MASK | U_GC_CN_MASK | U_GC_Z_MASK;
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & kUnprinted) == 0;
}

TracedText upper(const TracedText& text) {
  return text.mapped(
      [](char32_t c, std::size_t, std::string& out) { append_case(out, c, Case::upper); });
}

TracedText lower(const TracedText& text) {
  return text.mapped([&](char32_t c, std::size_t begin, std::string& out) {
    append_lower(out, c, text.text(), begin);
  });
}

TracedText title(const TracedText& text) {
  bool in_word = false;
  return text.mapped([&](char32_t c, std::size_t begin, std::string& out) {
    if (in_word) {
      append_lower(out, c, text.text(), begin);
    } else {
      append_case(out, c, Case::title);
    }
    in_word = is_cased(c);
  });
}

TracedText capitalized(const TracedText& text) {
  return text.mapped([&](char32_t c, std::size_t begin, std::string& out) {
    if (begin > 0) {
      append_lower(out, c, text.text(), begin);
    } else {
      append_case(out, c, Case::title);
    }
  });
}

CharacterSet::CharacterSet(std::string_view characters) {
  for (std::size_t at = 0; at < characters.size();) {
    const char32_t c = take_character(characters, at);
    if (c < ascii_.size()) {
      ascii_.set(c);
    } else {
      others_ += c;
    }
  }
  std::sort(others_.begin(), others_.end());
}

bool CharacterSet::contains(char32_t c) const {
  return c < ascii_.size() ? ascii_.test(c) : std::binary_search(others_.begin(), others_.end(), c);
}

Stripped strip(std::string_view text, Ends ends, const CharacterSet* characters) {
  const auto goes = [&](char32_t c) {
    return characters == nullptr ? is_python_space(c) : characters->contains(c);
  };
  Stripped left = {0, text.size()};
  const auto at = [&](Ends end) {
    return (static_cast<unsigned>(ends) & static_cast<unsigned>(end)) != 0;
  };
  while (at(Ends::left) && left.begin < left.end && goes(character_at(text, left.begin)))
    left.begin += character_size(text[left.begin]);
  while (at(Ends::right) && left.begin < left.end && goes(character_before(text, left.end)))
    left.end -= encoded_size(character_before(text, left.end));
  return left;
}

std::size_t byte_of(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += character_size(text[at]);
  return at;
}

}  // namespace weft::chat
