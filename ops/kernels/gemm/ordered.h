// Skinny products in the order of summation of the FMA engine, for programs that are
// batch-invariant: a product with one row has the bits of that row in a product with many rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/gemm/skinny.h"

namespace weft::kernels {

/// The maximum number of rows of an ordered product. With more rows, the engine is faster.
inline constexpr std::int64_t kOrderedRows = 8;
/// Pieces of columns begin at multiples of this number if the columns of B are contiguous.
inline constexpr std::int64_t kOrderedColumns = 16;

std::size_t ordered_gemm_scratch_bytes(DType result, std::int64_t k);

/// Computes the product on the calling thread. The requirements are those of skinny_gemm(), except
/// that m is at most kOrderedRows and c_column_stride is 1. The bits are those of the FMA engine:
/// one chain of fused multiply-adds per block of K, and the blocks are added to C in order. They
/// are independent of m, of the layout of B and of the columns that are computed together.
void ordered_gemm(const SkinnyGemm& problem, std::byte* scratch);

}  // namespace weft::kernels
