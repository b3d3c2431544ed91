// Sums of the rows of a tile and other operands: a bias, a residual and ReLU after a product.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/dtype.h"

namespace weft::kernels {

/// An operand of sum_rows(): rows of elements, or one element per row.
struct SumOperand {
  const void* data = nullptr;
  std::ptrdiff_t row_stride = 0;  // in bytes; 0 repeats the row
  bool is_single = false;         // all columns add the first element of the row
  bool joins_next = false;        // the next operand is added to this one first
};

/// The most operands of sum_rows().
inline constexpr std::size_t kMaxSumOperands = 4;

/// Sets out[r][j] to ((c[r][j] + operand 0) + operand 1) + ..., where two operands may be added to
/// each other first, and then, if `relu`, to its
/// maximum with 0, with the bits of the row kernels of add and relu. `dtype` is f32 or f64. `out`
/// may be `c`. Strides are in bytes.
void sum_rows(DType dtype, const void* c, std::ptrdiff_t c_stride, const SumOperand* operands,
              std::size_t count, bool relu, void* out, std::ptrdiff_t out_stride, std::int64_t rows,
              std::int64_t columns);

}  // namespace weft::kernels
