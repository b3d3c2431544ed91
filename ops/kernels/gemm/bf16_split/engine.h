// Split-float engines: bf16x1, bf16x3 and bf16x6 compute float matrix products as sums of one,
// three or six products of bfloat16 terms.
#pragma once

#include <cstdint>

#include "weft/ops/kernels/gemm/bf16_split/unit.h"
#include "weft/ops/kernels/gemm/engine.h"

namespace weft::kernels {

/// Returns the engine that computes `products` products of bfloat16 terms (panel.h) on a unit: 1, 3
/// or 6. The dot units support 1 only. C is f32; sources are f32, bf16 or f16.
///
/// Elements whose row of A or column of B is not representable by the terms
/// (representable_by_terms) are computed one by one with fused multiply-adds: infinities, NaN,
/// denormals and huge values have the same results as with the FMA engine, and the bits of an
/// element never depend on its neighbours. Call multiply() of an engine only if
/// bf16_unit_available() is true for its unit. Throws ArgumentError for any other number of
/// products.
const GemmEngine& bf16_split_engine(Bf16Unit unit, int products);

}  // namespace weft::kernels
