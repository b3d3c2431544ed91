// Inner products of a few rows of float with a few others, and sums of such rows: what vectors of
// words are learned with. A row has `n` elements, a multiple of kRowMultiple, and lies anywhere.
#pragma once

#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {
namespace kernels {

/// So many floats fill whole vectors on every target.
inline constexpr std::int64_t kRowMultiple = 16;
/// n elements filled up to a multiple of that.
constexpr std::int64_t padded_row(std::int64_t n) {
  return (n + kRowMultiple - 1) / kRowMultiple * kRowMultiple;
}

/// products[i * k + j] is the inner product of rows a[i], i < m, and b[j], j < k. The order of sums
/// follows from n and the SIMD target.
void row_products(const float* const* a, std::int64_t m, const float* const* b, std::int64_t k,
                  std::int64_t n, float* products);

/// y[i] += sum over j < k of factors[i * i_stride + j * j_stride] * b[j], for i < m: one fused
/// multiply-add after the other.
void add_row_sums(float* const* y, std::int64_t m, const float* factors, std::int64_t i_stride,
                  std::int64_t j_stride, const float* const* b, std::int64_t k, std::int64_t n);

/// Each x of a matrix [rows, columns] becomes rate * (label - 1 / (1 + exp(-x))), where the label
/// is 1 in the first `right` columns and else 0: of logits, the rate times the derivative of the
/// log-likelihood.
void logistic_steps(float* x, std::int64_t rows, std::int64_t columns, std::int64_t right,
                    float rate);

/// AdaGrad (Duchi, Hazan and Singer 2011): x[i] -= rate * g[i] / sqrt(squares[i]), then squares[i]
/// += g[i]^2.
void adagrad_row(float* x, float* squares, const float* g, std::int64_t n, float rate);

}  // namespace kernels
}  // namespace weft
