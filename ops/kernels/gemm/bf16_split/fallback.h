// The parts of bf16_split engines that do not run on the matrix unit: fused multiply-adds for
// products that cannot be represented by bfloat16 terms, and stores of blocks of C.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/gemm_engine.h"

namespace weft::kernels {

/// Returns the number of bytes of scratch that fma_block() needs.
std::size_t fma_block_scratch();

/// Computes c = A B for at most 32 rows and columns; c is 32 x 32 and row-major. Every element is
/// computed by a chain of fused multiply-adds in the order of k, so the accuracy and the results
/// for infinities, NaN and denormals are the same as with the FMA engine. Sources are f32, bf16 or
/// f16; `scratch` is 64-byte aligned.
void fma_block(const MatrixSource& a, const MatrixSource& b, std::int64_t rows,
               std::int64_t columns, std::int64_t depth, float* c, std::byte* scratch);

/// Stores c = block, or c += block if `accumulate`, for rows x columns elements of a block that has
/// 32 floats per row.
void store_block(const float* block, std::int64_t rows, std::int64_t columns, float* c,
                 std::int64_t c_stride, bool accumulate);

}  // namespace weft::kernels
