#include "weft/models/text/tokens/training_part.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"

namespace weft {

std::int64_t training_part(std::int64_t size, double validation_fraction) {
  if (!(validation_fraction >= 0 && validation_fraction < 1)) {
    throw ArgumentError(
        fmt::format("validation_fraction must be in [0, 1), not {}", validation_fraction));
  }
  // When converted to double, a size above 2^53 may be rounded up, and a size above 2^63 - 512 may
  // be rounded to a value that does not fit into 64 bits.
  constexpr double kMost = 0x1p63;
  const double part = static_cast<double>(size) * (1 - validation_fraction);
  return part < kMost ? std::min(size, static_cast<std::int64_t>(part)) : size;
}

}  // namespace weft
