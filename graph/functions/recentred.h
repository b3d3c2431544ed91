// Deviations from a mean that is much larger than they are.
#pragma once

#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"

namespace weft {

/// Returns d - mean(d) for deviations d = x - mean(x). mean(d) is 0 apart from the rounding of
/// mean(x), which is an error of all deviations if the mean is much larger than they are. No
/// gradient flows through mean(d), because it is constant.
inline Value recentred(Value deviations, const Axes& axes) {
  return apply_binary("sub", deviations, stop_gradient(mean(deviations, axes, true)));
}

}  // namespace weft
