// Recognition of texts without content.
#pragma once

#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns true if the text is empty or consists of white space (White_Space) only. Text that is
/// not valid UTF-8 is not blank.
bool is_blank(std::string_view text);

}  // namespace weft
