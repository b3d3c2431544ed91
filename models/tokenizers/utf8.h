// UTF-8 (RFC 3629), decoded strictly.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

/// U+FFFD, which stands for what is no UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// Decodes the code point at `offset` and moves `offset` past it. Throws FormatError with the byte
/// offset for a truncated, overlong or surrogate sequence, or one beyond U+10FFFF.
char32_t next_code_point(std::string_view text, std::size_t& offset);
/// Bytes of the character that `text` begins with; 0 where that is none, or `text` is empty.
std::size_t valid_character_size(std::string_view text);
/// Bytes of the character at `begin` by its first byte, whatever follows, but within `text`.
std::size_t character_size(std::string_view text, std::size_t begin);
/// Appends `c` as UTF-8.
void append_utf8(std::string& out, char32_t c);
/// The bytes at the end of `text` that begin a character and do not finish it: 0 to 3.
std::size_t unfinished_bytes(std::string_view text);
/// How messages show a character: 'é' (U+00E9), or just U+000A where it does not print.
std::string describe_character(char32_t c);

}  // namespace weft
