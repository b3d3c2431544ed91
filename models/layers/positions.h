// Positions that are not learned.
#pragma once

#include "weft/core/source_location.h"
#include "weft/graph/ir/value.h"

namespace weft {

/// The sinusoids of Vaswani et al. (2017) at `positions` (i32 or i64, any shape): [..., width] with
/// feature j < width/2 sin(p / 10000^(2j/width)), and the cosines of the same in the second half
/// (the paper has them side by side, a fixed permutation of features). `width` must be even.
Value sinusoidal_positions(Value positions, std::int64_t width, DType dtype,
                           SourceLocation loc = SourceLocation::current());

}  // namespace weft
