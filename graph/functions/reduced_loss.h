// The reduction that all losses share.
#pragma once

#include <string_view>

#include "weft/graph/functions/loss.h"

namespace weft {

/// Reduces the losses of the elements as `reduction` states. Throws ShapeError for batch_mean if
/// `loss` is a scalar; the message names `function`.
Value reduced(const Value& loss, Reduction reduction, std::string_view function,
              SourceLocation loc);

}  // namespace weft
