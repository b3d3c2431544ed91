// Texts of several ranks as one message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Adds a text to a list of them: its length in 8 bytes (of this machine's order: ranks have the
/// same CPUs), then its bytes.
void append_text(std::string& list, std::string_view text);

/// The texts of a list. Throws FormatError, with the byte, where it is none.
std::vector<std::string> split_texts(std::string_view list);

}  // namespace weft
