// Skinny products: one operand has few rows. The other operand is read once, in its original layout
// and at the speed of memory; packing it would cost more than it gains.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/gemm/engine.h"

namespace weft::kernels {

/// Products with at most this many rows (or columns) of C are skinny.
inline constexpr std::int64_t kSkinnyRows = 8;
/// The number of columns of C that are processed together if rows of B are contiguous. Pieces of a
/// product whose width is a multiple of it read memory in the longest runs.
inline constexpr std::int64_t kSkinnyBlock = 4096;

/// Computes C = A B, or C += A B if `accumulate`: m x k by k x n with m <= kSkinnyRows. C has the
/// dtype `result` (f32 or f64; operands have the same dtype or are bf16 or f16). C has two strides,
/// since products with few columns are computed transposed.
struct SkinnyGemm {
  std::int64_t m = 0, n = 0, k = 0;
  MatrixSource a, b;
  DType result = DType::f32;
  void* c = nullptr;
  std::int64_t c_row_stride = 0, c_column_stride = 1;
  bool accumulate = false;
};

/// Returns true if skinny_gemm() accepts such a B: its rows or its columns are contiguous.
bool skinny_gemm_fits(const MatrixSource& b);

std::size_t skinny_gemm_scratch_bytes(DType result, std::int64_t k);

/// Computes the product on the calling thread; k is at least 1. `scratch` has
/// skinny_gemm_scratch_bytes(), 64-byte aligned. The bits of an element depend on m, k, the layout
/// of B and the vectors of the CPU, but not on which columns are computed together, nor on the
/// dtype in which the numbers are stored.
void skinny_gemm(const SkinnyGemm& problem, std::byte* scratch);

}  // namespace weft::kernels
