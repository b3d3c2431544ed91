// Conversion of texts to lower case.
#pragma once

#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns valid UTF-8 in lower case. Every character is converted regardless of its context, as by
/// the normalizer Lowercase of Hugging Face's tokenizers library. Throws FormatError if `text` is
/// not valid UTF-8.
std::string in_lower_case(std::string_view text);

}  // namespace weft
