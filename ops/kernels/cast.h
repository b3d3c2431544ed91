// Conversions between dtypes.
#pragma once

#include "weft/ops/row_kernel.h"

namespace weft::kernels {

/// Returns the row kernel that converts elements. Floats to integers truncate and saturate, and NaN
/// becomes 0; integers to narrower integers wrap around; conversion to bool is x != 0; conversion
/// to floats rounds to nearest, ties to even. Not in place.
RowKernel::Function cast_row(DType from, DType to);

}  // namespace weft::kernels
