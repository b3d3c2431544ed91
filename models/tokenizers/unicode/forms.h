// Unicode normalisation forms (UAX 15) that preserve the alignment of each character.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/models/tokenizers/unicode/aligned_text.h"

namespace WEFT_API weft {

enum class UnicodeForm : std::uint8_t { nfc, nfd, nfkc, nfkd };

/// True if `text` is certainly in `form` already. May return false for text that is.
bool is_in_form(std::string_view text, UnicodeForm form);
/// Writes the rest of the edit's part in `form`. A character composed of several others has the
/// source span of the first of them; the characters that result from a decomposition have the span
/// of the decomposed character. Reordered marks take the spans of their new positions, as in
/// Hugging Face's tokenizers library, the reference implementation for offsets.
void write_in_form(TextEdit& edit, UnicodeForm form);

}  // namespace weft
