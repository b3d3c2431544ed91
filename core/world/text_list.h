// Serialisation of a list of texts as a single message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Appends a text to a serialised list: its length in 8 bytes, followed by its bytes. The length is
/// stored in native byte order, because all ranks run on the same CPU architecture.
void append_text(std::string& list, std::string_view text);

/// Returns the texts of a serialised list. Throws FormatError with the byte offset if the list is
/// malformed.
std::vector<std::string> split_texts(std::string_view list);

}  // namespace weft
