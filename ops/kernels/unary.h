// Row kernels of exact elementwise ops with one operand. A function is null for dtypes that the op
// does not accept.
#pragma once

#include "weft/ops/row_kernel.h"

namespace weft::kernels {

/// For f32 and f64; neg, abs, sign and square also for integers, which wrap around.
enum class UnaryOp { neg, abs, sign, square, sqrt, rsqrt, reciprocal, floor, ceil, round, relu };

/// Returns the row kernel out[i] = op(in[i]).
RowKernel::Function unary_row(UnaryOp op, DType dtype);
/// Returns the row kernel min(max(x, lo), hi) for f32, f64 and integers; NaN remains NaN. Requires
/// lo <= hi; a missing bound is infinite.
RowKernel clamp_row(DType dtype, double lo, double hi);
/// From f32 or f64 to bool.
RowKernel::Function isfinite_row(DType dtype);
/// From bool to bool.
RowKernel::Function logical_not_row();

}  // namespace weft::kernels
