// Lists of texts as one message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Appends a text to a serialised list: 8 bytes with its length, followed by its bytes. The length
/// is in native byte order, because all ranks have the same type of CPU.
void append_text(std::string& list, std::string_view text);

/// Returns the texts of a serialised list. Throws FormatError with the byte offset if it is
/// malformed.
std::vector<std::string> split_texts(std::string_view list);

}  // namespace weft
