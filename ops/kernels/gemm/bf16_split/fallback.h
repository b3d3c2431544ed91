// What bf16_split engines do to blocks of C outside the matrix unit: they compute products that
// bfloat16 terms cannot carry by fused multiply-adds, and store blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/gemm/engine.h"

namespace weft::kernels {

/// Bytes of scratch for fma_block().
std::size_t fma_block_scratch();

/// c (32 x 32, row by row) = A B for at most 32 rows and columns: each element a chain of fused
/// multiply-adds in the order of k, as precise and as right for infinities, NaN and denormals as
/// the FMA engine. Sources are f32, bf16 or f16; `scratch` is 64-byte aligned.
void fma_block(const MatrixSource& a, const MatrixSource& b, std::int64_t rows,
               std::int64_t columns, std::int64_t depth, float* c, std::byte* scratch);

/// c = block, or c += block where `accumulate`, for rows x columns of a block with 32 floats per
/// row.
void store_block(const float* block, std::int64_t rows, std::int64_t columns, float* c,
                 std::int64_t c_stride, bool accumulate);

}  // namespace weft::kernels
