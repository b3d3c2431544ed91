// What people take for one character: a letter with its marks, an emoji of several parts.
#pragma once

#include <string_view>

#include "weft/core/parallel.h"

namespace weft {

/// Calls `visit` with every extended grapheme cluster (UAX 29) of valid UTF-8.
void for_each_grapheme(std::string_view text, FunctionRef<void(std::string_view)> visit);

}  // namespace weft
