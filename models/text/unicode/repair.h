// Replacement of invalid UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/text/unicode/span.h"

namespace WEFT_API weft {

/// Returns the offset of the first invalid byte sequence in `text`, or the size of `text` if it is
/// valid UTF-8.
std::size_t find_invalid_utf8(std::string_view text);

/// If `text` is not valid UTF-8, throws a FormatError with the offset of the first invalid byte
/// sequence.
void require_utf8(std::string_view text);

/// A copy of a text in which each ill-formed subsequence (see examine_character()) is replaced by
/// U+FFFD.
struct RepairedText {
  std::string text;
  std::vector<Span> spans;  // the source span of each byte
};
RepairedText repair(std::string_view text);
/// Like repair(), but without spans.
std::string repaired(std::string_view text);

}  // namespace weft
