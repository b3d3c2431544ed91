// Cumulative sums along one axis.
#pragma once

#include <cstdint>

#include "weft/core/dtype.h"

namespace weft::kernels {

/// Computes out[r] = x[0] + ... + x[r] for each of the first `width` columns of a matrix with
/// `length` rows, which are `row_stride` elements apart. x[r] is excluded if `exclusive`, and the
/// sums start with the last row if `reverse`. `out` has the same layout as x. f32 and f64 are
/// summed in double; integers wrap around.
void cumsum_columns(DType dtype, const void* x, std::int64_t row_stride, std::int64_t length,
                    std::int64_t width, bool exclusive, bool reverse, void* out);

}  // namespace weft::kernels
