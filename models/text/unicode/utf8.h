// Strict encoding and decoding of UTF-8 (RFC 3629).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// U+FFFD, which replaces invalid UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// Decodes the code point at `offset` and advances `offset` past it. Throws a FormatError with the
/// byte offset if the sequence is truncated or overlong, or if it encodes a surrogate or a value
/// above U+10FFFF.
char32_t next_code_point(std::string_view text, std::size_t& offset);
/// Returns the size in bytes of the character at `at`. If the character is ill-formed, returns the
/// negated size of the ill-formed subsequence, which is the longest incomplete prefix of a
/// character, or one byte. This is Unicode's "maximal subpart", which browsers, Python and Rust
/// also use.
int examine_character(std::string_view text, std::size_t at);
/// Returns the size in bytes of a character that starts with the byte `first`, or 1 for a
/// continuation byte.
constexpr std::size_t character_size(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}
/// Returns the size of the character at `begin` according to its first byte, but at most the size
/// of the remaining text.
inline std::size_t character_size(std::string_view text, std::size_t begin) {
  return std::min(character_size(text[begin]), text.size() - begin);
}
/// Returns true for continuation bytes, that is, for the second to fourth byte of a character.
constexpr bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}
/// Appends `c` as UTF-8.
void append_utf8(std::string& out, char32_t c);
/// Returns the number of bytes (0 to 3) of the incomplete character at the end of `text`.
std::size_t unfinished_bytes(std::string_view text);
/// Formats a character for messages: 'é' (U+00E9), or only U+000A if the character is not
/// printable.
std::string describe_character(char32_t c);

}  // namespace weft
