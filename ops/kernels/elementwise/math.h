// Row kernels of transcendental functions on f32 and f64. They are null for other dtypes.
#pragma once

#include "weft/ops/row_kernel.h"

namespace weft::kernels {

enum class MathOp { exp, log, log1p, expm1, sin, cos, tanh, erf };
enum class ActivationOp { sigmoid, gelu_erf, gelu_tanh, silu, softplus };

/// Return the row kernel out[i] = op(in[i]).
RowKernel::Function math_row(MathOp op, DType dtype);
RowKernel::Function activation_row(ActivationOp op, DType dtype);

}  // namespace weft::kernels
