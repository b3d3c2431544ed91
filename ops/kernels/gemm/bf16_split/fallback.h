// The work of bf16_split engines outside the matrix unit: fused multiply-adds for products that are
// not representable by bfloat16 terms, and stores of blocks of C.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/gemm/engine.h"

namespace weft::kernels {

/// Returns the bytes of scratch for fma_block().
std::size_t fma_block_scratch();

/// Computes c = A B (c is 32 x 32, row-major) for at most 32 rows and columns. Every element is a
/// chain of fused multiply-adds in the order of k, with the precision of the FMA engine and its
/// results for infinities, NaN and denormals. Sources are f32, bf16 or f16; `scratch` is 64-byte
/// aligned.
void fma_block(const MatrixSource& a, const MatrixSource& b, std::int64_t rows,
               std::int64_t columns, std::int64_t depth, float* c, std::byte* scratch);

/// Stores c = block, or c += block if `accumulate`, for rows x columns of a block with 32 floats
/// per row.
void store_block(const float* block, std::int64_t rows, std::int64_t columns, float* c,
                 std::int64_t c_stride, bool accumulate);

}  // namespace weft::kernels
