// Computes the size of the training part of a text.
#pragma once

#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns floor(size * (1 - validation_fraction)), the number of tokens, characters or bytes at
/// the front that are used for training. Throws ArgumentError unless 0 <= validation_fraction < 1.
std::int64_t training_part(std::int64_t size, double validation_fraction);

}  // namespace weft
