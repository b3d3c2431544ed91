// Skinny products: one operand has few rows. The other one is read once, as it lies, at the speed
// of memory; packing it would cost more than it gains.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/gemm/engine.h"

namespace weft::kernels {

/// Products with at most so many rows (or columns) of C are skinny.
inline constexpr std::int64_t kSkinnyRows = 8;
/// Columns of C that are worked on together where rows of B are contiguous; pieces of a product
/// that are a multiple of it read memory in the longest runs.
inline constexpr std::int64_t kSkinnyBlock = 4096;

/// C = A B, or C += A B where `accumulate`: m x k by k x n with m <= kSkinnyRows. C has the dtype
/// `result` (f32 or f64; operands have that or are bf16 or f16) and both strides, since products
/// with few columns are computed transposed.
struct SkinnyGemm {
  std::int64_t m = 0, n = 0, k = 0;
  MatrixSource a, b;
  DType result = DType::f32;
  void* c = nullptr;
  std::int64_t c_row_stride = 0, c_column_stride = 1;
  bool accumulate = false;
};

/// Whether skinny_gemm() takes such a B: its rows or its columns are contiguous.
bool skinny_gemm_fits(const MatrixSource& b);

std::size_t skinny_gemm_scratch_bytes(DType result, std::int64_t k);

/// Computes the product on the calling thread; k is at least 1. `scratch` has
/// skinny_gemm_scratch_bytes(), 64-byte aligned. The bits of an element depend on m, k, the layout
/// of B and the CPU's vectors, not on which columns are computed together, nor on the dtype that
/// the same numbers are stored in.
void skinny_gemm(const SkinnyGemm& problem, std::byte* scratch);

}  // namespace weft::kernels
