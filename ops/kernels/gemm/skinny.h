// Skinny products, in which one operand has few rows. The other operand is read once, in its
// original layout and at full memory bandwidth. Packing it would cost more than it gains.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/gemm_engine.h"

namespace weft::kernels {

/// A product is skinny if C has at most this many rows or columns.
inline constexpr std::int64_t kSkinnyRows = 8;
/// The maximum number of rows that skinny_gemm() accepts. With more than kSkinnyRows rows, it reads
/// B once from memory and then from cache, which is faster than packing B if B is large.
inline constexpr std::int64_t kMostSkinnyRows = 16;
/// Returns the number of rows for which scratch is used if there are m rows.
constexpr std::int64_t computed_rows(std::int64_t m) {
  return m <= kSkinnyRows ? kSkinnyRows : kMostSkinnyRows;
}
/// The number of columns of C that are processed together if the rows of B are contiguous. If the
/// width of a piece is a multiple of this number, memory is read in the longest possible runs.
inline constexpr std::int64_t kSkinnyBlock = 4096;
/// The size of a block of K if the columns of B are contiguous, in bytes of the result's dtype.
/// Eight rows of A stay in the L1 cache.
inline constexpr std::int64_t kLaneDepthBytes = 3072;

/// A product C = A B, or C += A B if `accumulate`, of m x k and k x n matrices with m <=
/// kMostSkinnyRows. C has the dtype `result`, which is f32 or f64; operands have the same dtype or
/// are bf16 or f16. C has two strides, because products with few columns are computed as transposed
/// products.
struct SkinnyGemm {
  std::int64_t m = 0, n = 0, k = 0;
  MatrixSource a, b;
  DType result = DType::f32;
  void* c = nullptr;
  std::int64_t c_row_stride = 0, c_column_stride = 1;
  bool accumulate = false;
};

/// Returns true if skinny_gemm() accepts `b`, that is, if its rows or columns are contiguous.
bool skinny_gemm_fits(const MatrixSource& b);

/// Returns the number of bytes of scratch that products with at most `m` rows need. k may be 0 if
/// the rows of A are contiguous and have the dtype of the result.
std::size_t skinny_gemm_scratch_bytes(DType result, std::int64_t m, std::int64_t k);

/// Computes the product on the calling thread. k must be at least 1. `scratch` has
/// skinny_gemm_scratch_bytes() bytes and is 64-byte aligned. The bits of an element depend on k,
/// the layout of B and the vector size of the CPU, but not on which rows and columns are computed
/// together or on the dtype in which the operands are stored. They are those of row_order_engine().
void skinny_gemm(const SkinnyGemm& problem, std::byte* scratch);

/// Returns the lane engine, for products with many rows and contiguous columns of B. Each block of
/// K is summed in the lanes of one vector, which are added at the end of the block.
const GemmEngine& lane_engine(DType result);

/// Returns the engine for f32 or f64 that has the bits of skinny_gemm() with this B: the FMA engine
/// or, if the columns of B are contiguous, the lane engine.
inline const GemmEngine& row_order_engine(DType result, const MatrixSource& b) {
  return b.row_stride == 1 && b.column_stride != 1 ? lane_engine(result) : fma_engine(result);
}

}  // namespace weft::kernels
