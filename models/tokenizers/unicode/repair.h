// Bytes that are no UTF-8, made readable.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/tokenizers/unicode/span.h"

namespace weft {

/// Where the first part of `text` begins that is no UTF-8; its size where all of it is.
std::size_t first_broken(std::string_view text);
/// The bytes at `at` that are broken together: the longest beginning of a character that is not
/// finished, or one byte (Unicode's "maximal subpart"; so do browsers, Python and Rust).
std::size_t broken_size(std::string_view text, std::size_t at);

/// A text with one U+FFFD for each broken part of another.
struct RepairedText {
  std::string text;
  std::vector<Span> spans;   // what each byte came from
  std::vector<Span> broken;  // of the bytes of `text`: those U+FFFD
};
RepairedText repair(std::string_view text);
/// The text alone.
std::string repaired(std::string_view text);

}  // namespace weft
