// Functions for iterating over UTF-8 that is known to be valid.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "weft/core/export.h"
#include "weft/models/text/unicode/utf8.h"

namespace WEFT_API weft {

/// Returns the number of bytes of `c` in UTF-8.
constexpr std::size_t encoded_size(char32_t c) {
  return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

/// Returns the character at byte `at`. `text` must be valid UTF-8.
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

/// Like character_at(), but also advances `at` past the character.
inline char32_t take_character(std::string_view text, std::size_t& at) {
  const char32_t c = character_at(text, at);
  at += character_size(text[at]);
  return c;
}

/// Returns the character that ends at byte `end`.
inline char32_t character_before(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && is_continuation(text[at])) --at;
  return character_at(text, at);
}

/// Returns the number of code points in `text`, which must be valid UTF-8.
inline std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) count += is_continuation(byte) ? 0 : 1;
  return count;
}

/// Decodes valid UTF-8.
inline std::u32string utf32(std::string_view text) {
  std::u32string characters;
  for (std::size_t at = 0; at < text.size();) characters += take_character(text, at);
  return characters;
}

constexpr bool is_ascii(char byte) { return static_cast<unsigned char>(byte) < 0x80; }
/// Returns true if all bytes are ASCII.
inline bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char byte) { return is_ascii(byte); });
}

/// Encodes `c` as UTF-8.
inline std::string utf8(char32_t c) {
  std::string text;
  append_utf8(text, c);
  return text;
}
inline std::string utf8(std::u32string_view characters) {
  std::string text;
  for (const char32_t c : characters) append_utf8(text, c);
  return text;
}

}  // namespace weft
