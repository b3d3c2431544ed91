// Softmax and log-softmax along contiguous rows or strided columns, in float and double.
#pragma once

#include <cstdint>

namespace weft {

/// Computes y = exp(x - max) / sum, or x - max - ln(sum) if `log`, for `rows` rows of n contiguous
/// elements. y may be equal to x. The result is NaN if all elements of a row are -inf.
void softmax_rows(const float* x, float* y, std::int64_t rows, std::int64_t n, bool log);
void softmax_rows(const double* x, double* y, std::int64_t rows, std::int64_t n, bool log);

/// As above, for columns [begin, end) of an [n, stride] matrix. Each column is normalised over its
/// n elements. y may be equal to x. The bits of a column do not depend on `begin` and `end`.
void softmax_columns(const float* x, float* y, std::int64_t n, std::int64_t stride,
                     std::int64_t begin, std::int64_t end, bool log);
void softmax_columns(const double* x, double* y, std::int64_t n, std::int64_t stride,
                     std::int64_t begin, std::int64_t end, bool log);

}  // namespace weft
