// Text of unknown origin in messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// `text` as UTF-8: every byte that belongs to no character (RFC 3629) becomes "\xNN". Of more than
/// about `most` bytes the rest is left out, and it says how long the text is.
std::string as_utf8(std::string_view text, std::size_t most = std::string_view::npos);

/// `text` as a message can show it: at most about `most` bytes of it, in UTF-8, control characters
/// as "\xNN"; where it was cut, it says how long it is.
std::string excerpt(std::string_view text, std::size_t most = 80);

}  // namespace weft
