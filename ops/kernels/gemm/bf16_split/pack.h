// Packs float matrices into panels of bfloat16 terms (panel.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/gemm_engine.h"

namespace weft::kernels {

/// The operand to which a panel belongs. It determines the order of the pairs in a tile.
enum class OperandSide { a, b };

/// Packs the block that starts at element (0, 0) of `matrix` into panels of 32 rows of A or columns
/// of B. The block has `across` rows of A or columns of B, and `depth` along K. `terms` is 1 to 3.
/// Every term is the remainder after the preceding terms, rounded to nearest even. Sources are f32,
/// bf16 or f16.
void pack_terms(OperandSide side, int terms, const MatrixSource& matrix, std::int64_t across,
                std::int64_t depth, std::byte* panels);

}  // namespace weft::kernels
