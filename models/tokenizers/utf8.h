// UTF-8 (RFC 3629), decoded strictly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// U+FFFD, which stands for what is no UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// Decodes the code point at `offset` and moves `offset` past it. Throws FormatError with the byte
/// offset for a truncated, overlong or surrogate sequence, or one beyond U+10FFFF.
char32_t next_code_point(std::string_view text, std::size_t& offset);
/// Bytes of the character at `at`, or minus those that are broken there together: the longest
/// beginning of a character that is not finished, or one byte (Unicode's "maximal subpart"; so do
/// browsers, Python and Rust).
int examine_character(std::string_view text, std::size_t at);
/// Bytes of the character that begins with `first`; 1 where none does.
constexpr std::size_t character_size(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}
/// Bytes of the character at `begin` by its first byte, whatever follows, but within `text`.
inline std::size_t character_size(std::string_view text, std::size_t begin) {
  return std::min(character_size(text[begin]), text.size() - begin);
}
/// True for the second to fourth byte of a character.
constexpr bool goes_on(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }
/// Appends `c` as UTF-8.
void append_utf8(std::string& out, char32_t c);
/// The bytes at the end of `text` that begin a character and do not finish it: 0 to 3.
std::size_t unfinished_bytes(std::string_view text);
/// How messages show a character: 'é' (U+00E9), or just U+000A where it does not print.
std::string describe_character(char32_t c);

}  // namespace weft
