// Unicode normalisation forms (UAX 15) that preserve the alignment of each character.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/models/text/unicode/aligned_text.h"

namespace WEFT_API weft {

enum class UnicodeForm : std::uint8_t { nfc, nfd, nfkc, nfkd };

/// Returns true if `text` is known to be in `form` already. May return false even if it is.
bool is_in_form(std::string_view text, UnicodeForm form);
/// Normalises the rest of the edit's part to `form`. A character composed of several others has the
/// source span of the first of them. Characters that result from a decomposition have the source
/// span of the decomposed character. Reordered marks have the source spans of their new positions,
/// as in Hugging Face's tokenizers library, the reference implementation for offsets.
void write_in_form(TextEdit& edit, UnicodeForm form);

}  // namespace weft
