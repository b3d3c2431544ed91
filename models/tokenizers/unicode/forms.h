// Unicode's normal forms (UAX 15), with the alignment that each character keeps.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/models/tokenizers/unicode/aligned_text.h"

namespace WEFT_API weft {

enum class UnicodeForm : std::uint8_t { nfc, nfd, nfkc, nfkd };

/// True where `text` is certainly in `form` already.
bool is_in_form(std::string_view text, UnicodeForm form);
/// Writes the rest of the edit's part in `form`. A character that was composed of several comes
/// from where the first of them came from, the parts of one that was decomposed come from it; marks
/// that change places take the places' origins (as the library does whose offsets are the
/// standard).
void write_in_form(TextEdit& edit, UnicodeForm form);

}  // namespace weft
