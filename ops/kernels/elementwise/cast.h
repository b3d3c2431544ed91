// Row kernels for conversions between dtypes.
#pragma once

#include "weft/ops/row_kernel.h"

namespace weft::kernels {

/// Returns the row kernel that converts elements between two dtypes. Conversions from float to
/// integer truncate and saturate, and NaN becomes 0. Conversions to narrower integers wrap around.
/// Conversions to bool yield x != 0. Conversions to float round to nearest, ties to even. The
/// kernel must not be used in place.
RowKernel::Function cast_row(DType from, DType to);

}  // namespace weft::kernels
