// Inner products between two small sets of float rows, and sums of such rows, for training word
// embeddings. A row has `n` elements, which must be a multiple of kRowMultiple, and may be anywhere
// in memory.
#pragma once

#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace kernels {

/// A multiple of this number of floats fills whole vectors on every SIMD target.
inline constexpr std::int64_t kRowMultiple = 16;
/// Returns n rounded up to a multiple of kRowMultiple.
constexpr std::int64_t padded_row(std::int64_t n) {
  return (n + kRowMultiple - 1) / kRowMultiple * kRowMultiple;
}

/// Sets products[i * k + j] to the inner product of row a[i], i < m, and row b[j], j < k. The order
/// of summation depends on n and the SIMD target.
void row_products(const float* const* a, std::int64_t m, const float* const* b, std::int64_t k,
                  std::int64_t n, float* products);

/// For i < m, adds the sum over j < k of factors[i * i_stride + j * j_stride] * b[j] to y[i] with a
/// chain of fused multiply-adds.
void add_row_sums(float* const* y, std::int64_t m, const float* factors, std::int64_t i_stride,
                  std::int64_t j_stride, const float* const* b, std::int64_t k, std::int64_t n);

/// Replaces each element x of a matrix [rows, columns] by rate * (label - 1 / (1 + exp(-x))). The
/// label is 1 in the first `positives` columns and 0 in the other columns. If x is a logit, the
/// result is the rate times the derivative of the log-likelihood.
void logistic_steps(float* x, std::int64_t rows, std::int64_t columns, std::int64_t positives,
                    float rate);

/// Performs an AdaGrad update (Duchi, Hazan and Singer 2011): x[i] -= rate * g[i] /
/// sqrt(squares[i]), then squares[i] += g[i]^2.
void adagrad_row(float* x, float* squares, const float* g, std::int64_t n, float rate);

}  // namespace kernels
}  // namespace weft
