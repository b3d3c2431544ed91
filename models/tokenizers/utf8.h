// UTF-8 (RFC 3629), decoded strictly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// U+FFFD, which replaces invalid UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// Decodes the code point at `offset` and advances `offset` past it. Throws FormatError with the
/// byte offset for a truncated, overlong or surrogate sequence, or one beyond U+10FFFF.
char32_t next_code_point(std::string_view text, std::size_t& offset);
/// Returns the size in bytes of the character at `at`. If it is ill-formed, returns minus the size
/// of the ill-formed subsequence: the longest incomplete prefix of a character, or one byte. This
/// is Unicode's "maximal subpart", which browsers, Python and Rust use, too.
int examine_character(std::string_view text, std::size_t at);
/// Returns the size in bytes of a character whose first byte is `first`; 1 for a continuation byte.
constexpr std::size_t character_size(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}
/// Returns the size of the character at `begin`, judged by its first byte only and clamped to
/// `text`.
inline std::size_t character_size(std::string_view text, std::size_t begin) {
  return std::min(character_size(text[begin]), text.size() - begin);
}
/// True for a continuation byte: the second to fourth byte of a character.
constexpr bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}
/// Appends `c` as UTF-8.
void append_utf8(std::string& out, char32_t c);
/// Returns the number of bytes of an incomplete character at the end of `text`: 0 to 3.
std::size_t unfinished_bytes(std::string_view text);
/// Formats a character for messages: 'é' (U+00E9), or just U+000A if it is not printable.
std::string describe_character(char32_t c);

}  // namespace weft
