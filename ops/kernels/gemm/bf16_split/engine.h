// Split-float engines: bf16x1, bf16x3 and bf16x6 compute float matrix products as sums of one,
// three or six products of bfloat16 terms.
#pragma once

#include <cstdint>

#include "weft/ops/kernels/gemm/bf16_split/unit.h"
#include "weft/ops/kernels/gemm/engine.h"

namespace weft::kernels {

/// The engine that computes `products` products of bfloat16 terms (panel.h) on a unit: 1, 3
/// or 6. The dot units know 1 only. C is f32; sources are f32, bf16 or f16.
///
/// Rows of A and columns of B that the terms cannot carry (carried_by_terms) are multiplied by
/// fused multiply-adds, element by element: infinities, NaN, denormals and huge values come out as
/// the FMA engine gives them, and no element's bits depend on its neighbours. Only call multiply()
/// of an engine whose unit bf16_unit_available(). Throws ArgumentError for other numbers of
/// products.
const GemmEngine& bf16_split_engine(Bf16Unit unit, int products);

}  // namespace weft::kernels
