// Products of which one operand has few rows: the other is read once, where it lies. Packing it
// would cost more than it gains.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/gemm.h"

namespace weft::kernels {

/// Up to so many rows (or columns) of C are computed without packing.
inline constexpr std::int64_t kFewRows = 4;

/// C with both strides: products with few columns are computed transposed.
template <class T>
struct FewRowsTarget {
  T* data;
  std::int64_t row_stride, column_stride;
  bool accumulate;

  void put(std::int64_t i, std::int64_t j, T value) const {
    T& c = data[i * row_stride + j * column_stride];
    c = accumulate ? c + value : value;
  }
};

/// C = A B or C += A B with m <= kFewRows and a B of contiguous rows or columns. `scratch` holds
/// kFewRows * k elements.
void few_rows(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView<float>& a,
              const MatrixView<float>& b, const FewRowsTarget<float>& c, std::byte* scratch);
void few_rows(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView<double>& a,
              const MatrixView<double>& b, const FewRowsTarget<double>& c, std::byte* scratch);

}  // namespace weft::kernels
