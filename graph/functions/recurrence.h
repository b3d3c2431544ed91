// Linear recurrences along an axis.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

struct RecurrenceOptions {
  bool reverse = false;  // start at the last element
};
/// First-order linear recurrence along an axis: out[i] = a[i] * out[i - 1] + b[i], out[0] = b[0]. a
/// and b have the same shape and dtype, f32 or f64. Used for running products, exponentially
/// decaying sums and linear state-space layers.
Value linear_recurrence(Arg a, Arg b, int axis, const RecurrenceOptions& options = {});

}  // namespace weft
