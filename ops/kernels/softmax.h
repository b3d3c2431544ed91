// Softmax and log-softmax of float and double, along contiguous rows or down strided columns.
#pragma once

#include <cstdint>

namespace weft {

/// `rows` rows of n contiguous elements: y = exp(x - max) / sum, or with `log` x - max - ln(sum).
/// In place (y == x) is allowed. A row of -inf only gives NaN.
void softmax_rows(const float* x, float* y, std::int64_t rows, std::int64_t n, bool log);
void softmax_rows(const double* x, double* y, std::int64_t rows, std::int64_t n, bool log);

/// Columns [begin, end) of an [n, stride] matrix, each normalised over its n elements; in place is
/// allowed. A column's bits do not depend on begin and end.
void softmax_columns(const float* x, float* y, std::int64_t n, std::int64_t stride,
                     std::int64_t begin, std::int64_t end, bool log);
void softmax_columns(const double* x, double* y, std::int64_t n, std::int64_t stride,
                     std::int64_t begin, std::int64_t end, bool log);

}  // namespace weft
