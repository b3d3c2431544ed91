// Characters as Python's texts know them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/models/chat/template/traced_text.h"

namespace weft::chat {

/// White space of str.strip() and str.isspace().
bool is_space(char32_t c);
/// What repr() shows as it is (str.isprintable()).
bool is_printable(char32_t c);

/// str.upper(), .lower(), .title() and .capitalize(): all of Unicode, one character may become
/// several.
TracedText upper(const TracedText& text);
TracedText lower(const TracedText& text);
TracedText title(const TracedText& text);
TracedText capitalized(const TracedText& text);

enum class Ends : std::uint8_t { left = 1, right = 2, both = 3 };
/// Bytes [begin, end) of `text` that are left where characters at its ends are taken away: those of
/// `characters`, or white space where it is null.
struct Stripped {
  std::size_t begin, end;
};
Stripped strip(std::string_view text, Ends ends, const std::string_view* characters = nullptr);

/// The byte where character `index` begins; the size of the text for one behind its end.
std::size_t byte_of(std::string_view text, std::size_t index);

}  // namespace weft::chat
