// Bytes that are no UTF-8, made readable.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/tokenizers/unicode/span.h"

namespace WEFT_API weft {

/// Where the first part of `text` begins that is no UTF-8; its size where all of it is.
std::size_t first_broken(std::string_view text);

/// Throws FormatError with that byte where there is one.
void require_utf8(std::string_view text);

/// A text with one U+FFFD for each broken part (examine_character()) of another.
struct RepairedText {
  std::string text;
  std::vector<Span> spans;  // what each byte came from
};
RepairedText repair(std::string_view text);
/// The text alone.
std::string repaired(std::string_view text);

}  // namespace weft
