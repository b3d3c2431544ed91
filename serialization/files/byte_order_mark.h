// Byte-order marks at the start of text files.
#pragma once

#include <cstddef>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns the size in bytes of the UTF-8 byte-order mark at the start of `text`, or 0 if there is
/// none. Throws FormatError if `text` starts with a UTF-16 or UTF-32 byte-order mark, which editors
/// write when a file is saved as "Unicode". `what` is the name of the file in messages.
std::size_t byte_order_mark(std::string_view text, std::string_view what);

}  // namespace weft
