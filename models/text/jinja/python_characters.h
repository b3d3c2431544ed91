// Character classes and case mapping with the semantics of Python's str.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/text/jinja/traced_text.h"

namespace weft::chat {

/// Returns true for characters that repr() prints unchanged (str.isprintable()).
bool is_printable(char32_t c);

/// Equivalents of str.upper(), .lower(), .title() and .capitalize() for all of Unicode. One
/// character may be mapped to several.
TracedText upper(const TracedText& text);
TracedText lower(const TracedText& text);
TracedText title(const TracedText& text);
TracedText capitalized(const TracedText& text);

/// A set of characters.
class CharacterSet {
 public:
  explicit CharacterSet(std::string_view characters);
  bool contains(char32_t c) const;

 private:
  std::bitset<128> ascii_;
  std::u32string others_;  // sorted
};

enum class Ends : std::uint8_t { left = 1, right = 2, both = 3 };
/// The bytes [begin, end) of a text that remain after stripping.
struct Stripped {
  std::size_t begin, end;
};
/// Strips the characters in `characters` from the ends of `text`, or whitespace if `characters` is
/// null.
Stripped strip(std::string_view text, Ends ends, const CharacterSet* characters = nullptr);

/// Returns the byte offset of the character with the index `index`, or the size of the text if it
/// has fewer characters.
std::size_t byte_of(std::string_view text, std::size_t index);

}  // namespace weft::chat
