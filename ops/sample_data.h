// Fixed operands for the samples of op records.
#pragma once

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// f32 values in [low, high), spread by a fixed hash of `seed` and the position.
Tensor sample_uniform(Sizes sizes, std::uint64_t seed, double low = -1.5, double high = 1.5);
/// f32 values that all differ by at least 0.25, in a fixed order: for maxima and sorting, whose
/// gradients jump where two values meet.
Tensor sample_distinct(Sizes sizes, std::uint64_t seed);
/// i64 values in [0, bound).
Tensor sample_indices(Sizes sizes, std::uint64_t seed, std::int64_t bound);

}  // namespace weft
