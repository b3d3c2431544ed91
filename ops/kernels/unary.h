// Exact elementwise functions of one operand. A function is null for dtypes that the op does not
// take.
#pragma once

#include "weft/ops/row_kernel.h"

namespace weft::kernels {

/// For f32 and f64; neg, abs, sign and square also for integers, which wrap around.
enum class UnaryOp { neg, abs, sign, square, sqrt, rsqrt, reciprocal, floor, ceil, round, relu };

/// out[i] = op(in[i]).
RowKernel::Function unary_row(UnaryOp op, DType dtype);
/// min(max(x, lo), hi) for f32, f64 and integers; NaN stays NaN. lo <= hi, infinite for no bound.
RowKernel clamp_row(DType dtype, double lo, double hi);
/// f32 or f64 -> bool.
RowKernel::Function isfinite_row(DType dtype);
/// bool -> bool.
RowKernel::Function logical_not_row();

}  // namespace weft::kernels
