#include "weft/models/data/training_part.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {

std::int64_t training_part(std::int64_t size, double validation_fraction) {
  if (!(validation_fraction >= 0 && validation_fraction < 1)) {
    throw ArgumentError(
        fmt::format("validation_fraction must be in [0, 1), not {}", validation_fraction));
  }
  return static_cast<std::int64_t>(static_cast<double>(size) * (1 - validation_fraction));
}

}  // namespace weft
