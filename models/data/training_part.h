// How much of a text trains.
#pragma once

#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Of `size` tokens, characters or bytes those in front that train: floor(size * (1 -
/// validation_fraction)). Throws ArgumentError unless 0 <= validation_fraction < 1.
std::int64_t training_part(std::int64_t size, double validation_fraction);

}  // namespace weft
