// Products of which one operand has few rows: the other is read once, where it lies, at the speed
// of memory. Packing it would cost more than it gains.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/gemm/engine.h"

namespace weft::kernels {

/// Up to so many rows (or columns) of C are computed without packing.
inline constexpr std::int64_t kFewRows = 8;
/// Columns of C that are worked on together where rows of B are contiguous; pieces of a product
/// that are a multiple of it read memory in the longest runs.
inline constexpr std::int64_t kFewRowsBlock = 4096;

/// C = A B, or C += A B where `accumulate`: m x k by k x n with m <= kFewRows. C has the dtype
/// `result` (f32 or f64; operands have that or are bf16 or f16) and both strides, since products
/// with few columns are computed transposed.
struct FewRowsProblem {
  std::int64_t m = 0, n = 0, k = 0;
  MatrixSource a, b;
  DType result = DType::f32;
  void* c = nullptr;
  std::int64_t c_row_stride = 0, c_column_stride = 1;
  bool accumulate = false;
};

/// Whether few_rows() takes such a B: its rows or its columns are contiguous.
bool few_rows_fits(const MatrixSource& b);

std::size_t few_rows_scratch_bytes(DType result, std::int64_t k);

/// Computes the product on the calling thread; k is at least 1. `scratch` has
/// few_rows_scratch_bytes(), 64-byte aligned. The bits of an element depend on m, k, the layout of
/// B and the CPU's vectors, not on which columns are computed together, nor on the dtype that the
/// same numbers are stored in.
void few_rows(const FewRowsProblem& problem, std::byte* scratch);

}  // namespace weft::kernels
