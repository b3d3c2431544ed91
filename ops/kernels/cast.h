// Conversions between dtypes.
#pragma once

#include "weft/ops/row_kernel.h"

namespace weft::kernels {

/// out[i] = in[i] converted. Floats to integers truncate and saturate, NaN gives 0; integers to
/// narrower integers wrap around; to bool is x != 0; floats round to nearest, ties to even. Not in
/// place.
RowKernel::Function cast_row(DType from, DType to);

}  // namespace weft::kernels
