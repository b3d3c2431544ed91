// Copies of programs in another dtype: double precision for gradient checks and reference runs.
#pragma once

#include "weft/graph/ir/clone.h"

namespace WEFT_API weft {

/// Returns a copy of `program`, in a new graph, in which dtype `from` is replaced by `to`
/// everywhere (inputs, variables, constants, casts, random draws): usually f32 -> f64. A number
/// that was rounded to `from`, such as the constants of gradient rules, is rounded to `to` instead.
/// Shapes, names and random streams do not change.
Module retype(const Program& program, DType from = DType::f32, DType to = DType::f64);
/// As above, but replaces every floating-point dtype (f32, bf16, f16) by f64, so that nothing is
/// rounded to a narrower dtype. If the program reads quantised weights, replaces f32 only.
Module program_in_double(const Program& program);

}  // namespace weft
