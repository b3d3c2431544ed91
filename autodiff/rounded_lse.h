// Probabilities that are computed from a rounded log-sum-exp.
#pragma once

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"

namespace weft {

/// Returns probabilities p = exp(x - lse) divided by their sum along the axis, which is 1 apart
/// from the rounding of lse. If the rounding does not explain the difference from 1, lse is not the
/// log-sum-exp of x, and p is returned unchanged. No gradient flows through the sum. The kernels
/// apply the same correction (ops/kernels/reductions/softmax_rows-inl.h).
inline Value without_rounding_of_lse(Value p, Value lse, int axis) {
  const Value total = stop_gradient(sum(p, axis, true));
  const double rounding = p.dtype() == DType::f32 ? 0x1p-22 : 0x1p-51;
  return p / where(abs(log(total)) <= abs(lse) * rounding, total, 1);
}

}  // namespace weft
