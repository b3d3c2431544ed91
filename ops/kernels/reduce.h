// Reductions of dense rows and columns: the inner loops of sum, max, logsumexp, ...
#pragma once

#include <cstdint>

#include "weft/core/dtype.h"

namespace weft::kernels {

enum class Reduction { sum, max, min, prod, logsumexp, any, all };

/// out[i] = reduction of x[i * row_stride ... + length) for i in [0, rows); sums are divided by
/// `divisor`. f32, f64 (all but any and all); integers (sum, max, min, prod; sums and products wrap
/// around); bool (any, all). An empty row gives 0, 1, -inf or the like. max and min propagate NaN.
/// f32 sums add vector lanes of short blocks in float and the blocks in double. The order of
/// additions follows from `length` alone.
void reduce_rows(Reduction kind, DType dtype, const void* x, std::int64_t rows,
                 std::int64_t row_stride, std::int64_t length, double divisor, void* out);

/// out[j] = reduction over r of x[r * row_stride + j] for j in [0, width). As reduce_rows, but sums
/// are combined pairwise, which keeps the error near log2(length) roundings.
void reduce_columns(Reduction kind, DType dtype, const void* x, std::int64_t row_stride,
                    std::int64_t length, std::int64_t width, double divisor, void* out);

/// The same for integers and bool (any, all); reduce_rows and reduce_columns call it.
void reduce_integers(Reduction kind, DType dtype, const void* x, std::int64_t outputs,
                     std::int64_t output_stride, std::int64_t length, std::int64_t stride,
                     void* out);

/// Position of the first largest (or smallest) of `length` elements, for `width` columns: out[j] =
/// argmax over r of x[r * row_stride + j]. A NaN counts as the extreme. f32, f64, integers.
void arg_reduce_columns(DType dtype, bool largest, const void* x, std::int64_t row_stride,
                        std::int64_t length, std::int64_t width, std::int64_t* out);

}  // namespace weft::kernels
