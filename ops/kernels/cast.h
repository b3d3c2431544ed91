// Conversions between dtypes over rows.
#pragma once

#include <cstdint>

#include "weft/core/dtype.h"

namespace weft::kernels {

/// out[i] = in[i] converted. Floats to integers truncate and saturate, NaN gives 0; integers to
/// narrower integers wrap around; to bool is x != 0; floats round to nearest, ties to even. Not in
/// place.
void cast_row(DType from, DType to, const void* in, void* out, std::int64_t n);

}  // namespace weft::kernels
