// Ranges of numeric options, such as learning rates, and the errors for values outside of them.
#pragma once

#include <string>
#include <string_view>

#include "weft/core/export.h"
#include "weft/core/source_location.h"

namespace WEFT_API weft {

/// The values that a numeric option accepts. No option accepts NaN or an infinity.
enum class Allowed {
  finite,
  positive,      // above 0
  not_negative,  // at least 0
  fraction,      // in [0, 1]
  decay,         // in [0, 1)
};

/// Returns "momentum must be in [0, 1), but is 1.5", or "" if the value is allowed.
std::string option_error(std::string_view option, double value, Allowed allowed);

/// Throws ArgumentError if the value is not allowed: "sgd: momentum must be in [0, 1), but is 1.5",
/// followed by the source line.
void require_option(std::string_view function, std::string_view option, double value,
                    Allowed allowed, SourceLocation loc);

}  // namespace weft
