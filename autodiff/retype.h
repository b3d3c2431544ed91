// The double twin of a program: for gradient checks and reference runs.
#pragma once

#include "weft/graph/ir/clone.h"

namespace WEFT_API weft {

/// A copy of `program`, in a graph of its own, in which every `from` (inputs, variables, constants,
/// casts, draws) is `to`: usually f32 -> f64. Shapes, names and streams stay.
Module retype(const Program& program, DType from = DType::f32, DType to = DType::f64);

}  // namespace weft
