// Functions for quoting untrusted text in messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns `text` as valid UTF-8: every byte that is not part of a valid character (RFC 3629) is
/// escaped as "\xNN". The result is truncated after about `most` bytes; a truncated result ends
/// with the length of `text`.
std::string as_utf8(std::string_view text, std::size_t most = std::string_view::npos);

/// Returns `text` in a form suitable for messages: valid UTF-8 with control characters escaped as
/// "\xNN", truncated after about `most` bytes. A truncated result ends with the length of `text`.
std::string excerpt(std::string_view text, std::size_t most = 80);

}  // namespace weft
