// Exact elementwise functions of one operand over rows. `out` may be `in` where the element sizes
// agree.
#pragma once

#include <cstdint>

#include "weft/core/dtype.h"

namespace weft::kernels {

/// For f32 and f64; neg, abs, sign and square also for integers, which wrap around.
enum class UnaryOp { neg, abs, sign, square, sqrt, rsqrt, reciprocal, floor, ceil, round, relu };

/// out[i] = op(in[i]) for i in [0, n).
void unary_row(UnaryOp op, DType dtype, const void* in, void* out, std::int64_t n);
/// min(max(x, lo), hi) for f32, f64 and integers; NaN stays NaN. lo <= hi, infinite for no bound.
void clamp_row(DType dtype, double lo, double hi, const void* in, void* out, std::int64_t n);
/// f32 or f64 -> bool.
void isfinite_row(DType dtype, const void* in, void* out, std::int64_t n);
/// bool -> bool.
void logical_not_row(const void* in, void* out, std::int64_t n);

}  // namespace weft::kernels
