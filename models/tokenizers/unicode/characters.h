// Walking over UTF-8 that is known to be valid.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weft/models/tokenizers/utf8.h"

namespace weft {

/// True for the second to fourth byte of a character.
constexpr bool goes_on(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// Bytes of the character that begins with `first`.
constexpr std::size_t character_size(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// Bytes of `c` as UTF-8.
constexpr std::size_t encoded_size(char32_t c) {
  return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

/// The character at `at` of valid UTF-8.
inline char32_t character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  const char32_t first = byte(0);
  if (first < 0x80) return first;
  if (first < 0xE0) return (first & 0x1F) << 6 | (byte(1) & 0x3F);
  if (first < 0xF0) return (first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  return (first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
}

/// The same, and moves `at` past it.
inline char32_t take_character(std::string_view text, std::size_t& at) {
  const char32_t c = character_at(text, at);
  at += character_size(text[at]);
  return c;
}

/// The character that ends at `end`.
inline char32_t character_before(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && goes_on(text[at])) --at;
  return character_at(text, at);
}

/// Code points in valid UTF-8.
inline std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) count += goes_on(byte) ? 0 : 1;
  return count;
}

/// True where all bytes are below 0x80.
bool is_ascii(std::string_view text);

/// `c` as UTF-8.
inline std::string utf8(char32_t c) {
  std::string text;
  append_utf8(text, c);
  return text;
}

}  // namespace weft
