// Transcendental functions over rows of f32 or f64. `out` may be `in`.
#pragma once

#include <cstdint>

#include "weft/core/dtype.h"

namespace weft::kernels {

enum class MathOp { exp, log, log1p, expm1, sin, cos, tanh, erf };
enum class ActivationOp { sigmoid, gelu_erf, gelu_tanh, silu, softplus };

/// out[i] = op(in[i]) for i in [0, n).
void math_row(MathOp op, DType dtype, const void* in, void* out, std::int64_t n);
void activation_row(ActivationOp op, DType dtype, const void* in, void* out, std::int64_t n);

}  // namespace weft::kernels
