// Split-float engines. The engines bf16x1, bf16x3 and bf16x6 compute float matrix products as sums
// of one, three or six products of bfloat16 terms. If B consists of bfloat16 numbers, two or three
// products suffice for the accuracy of three or six.
#pragma once

#include <cstdint>

#include "weft/ops/kernels/gemm/bf16_split/unit.h"
#include "weft/ops/kernels/gemm_engine.h"

namespace weft::kernels {

/// Returns the engine that computes `products` products of bfloat16 terms (panel.h) on a unit. The
/// number of products is 1, 3 or 6, or with `single_term_b` 2 or 3; dot units support only 1. C is
/// f32; sources are f32, bf16 or f16. With `single_term_b`, B must be bf16.
///
/// Elements whose row of A or column of B cannot be represented by terms (see
/// representable_by_terms) are computed individually with fused multiply-adds. Infinities, NaN,
/// denormals and huge values therefore yield the same results as with the FMA engine, and the bits
/// of an element never depend on its neighbours. The engine's multiply() may only be called if
/// bf16_unit_available() is true for the unit. Throws ArgumentError if the unit does not support
/// this number of products.
const GemmEngine& bf16_split_engine(Bf16Unit unit, int products, bool single_term_b = false);

}  // namespace weft::kernels
