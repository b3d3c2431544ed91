// Packing float matrices into panels of bfloat16 terms (panel.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/ops/kernels/gemm/engine.h"

namespace weft::kernels {

/// Which operand a panel is for: it decides how the pairs lie in a tile.
enum class OperandSide { a, b };

/// Packs the block that starts at element (0, 0) of `matrix`, which is (rows x depth) for A and,
/// seen transposed, (columns x depth) for B: `across` rows or columns in panels of 32. `terms` is 1
/// to 3. Terms are rounded to nearest even, each of what the ones before it leave. Sources are f32,
/// bf16 or f16.
void pack_terms(OperandSide side, int terms, const MatrixSource& matrix, std::int64_t across,
                std::int64_t depth, std::byte* panels);

}  // namespace weft::kernels
