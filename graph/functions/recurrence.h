// Linear recurrences along an axis.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

struct RecurrenceOptions {
  bool reverse = false;  // from the last element on
};
/// out[i] = a[i] * out[i - 1] + b[i] along an axis, out[0] = b[0]: a and b have one shape and
/// dtype, f32 or f64. Running products, decaying sums, linear state-space layers.
Value linear_recurrence(Arg a, Arg b, int axis, const RecurrenceOptions& options = {});

}  // namespace weft
