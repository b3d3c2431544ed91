// Row kernels of exact elementwise ops with one operand. The returned function is null for dtypes
// that the op does not accept.
#pragma once

#include "weft/ops/row_kernel.h"

namespace weft::kernels {

/// Ops for f32 and f64. neg, abs, sign and square also support integers, which wrap around.
enum class UnaryOp { neg, abs, sign, square, sqrt, rsqrt, reciprocal, floor, ceil, round, relu };

/// Returns the row kernel out[i] = op(in[i]).
RowKernel::Function unary_row(UnaryOp op, DType dtype);
/// Returns the row kernel min(max(x, lo), hi) for f32, f64 and integers. NaN remains NaN. Requires
/// lo <= hi; an infinite bound has no effect.
RowKernel clamp_row(DType dtype, double lo, double hi);
/// Returns the row kernel of isfinite, from f32 or f64 to bool.
RowKernel::Function isfinite_row(DType dtype);
/// Returns the row kernel of logical_not, from bool to bool.
RowKernel::Function logical_not_row();

}  // namespace weft::kernels
