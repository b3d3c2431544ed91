// Running sums along one axis.
#pragma once

#include <cstdint>

#include "weft/core/dtype.h"

namespace weft::kernels {

/// For columns j in [0, width) of the matrix x with `length` rows `row_stride` elements apart:
/// out[r] = x[0] + ... + x[r], without x[r] if `exclusive`, starting with the last row if
/// `reverse`. `out` has the same layout as x. f32 and f64 are summed in double; integers wrap
/// around.
void cumsum_columns(DType dtype, const void* x, std::int64_t row_stride, std::int64_t length,
                    std::int64_t width, bool exclusive, bool reverse, void* out);

}  // namespace weft::kernels
