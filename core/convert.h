// Correctly rounded conversion of integers to 16-bit floats.
#pragma once

#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Converts an integer to double with round-to-odd: if the result is inexact, its last bit is set.
/// Rounding the result to a shorter format then yields the same value as rounding the integer
/// directly.
inline double integer_to_double_sticky(std::int64_t v) {
  std::uint64_t magnitude = static_cast<std::uint64_t>(v);
  if (v < 0) magnitude = -magnitude;
  if (magnitude >> 53 != 0) {
    const bool rest = (magnitude & 0x7ff) != 0;
    magnitude = (magnitude >> 11 | (rest ? 1u : 0u)) << 11;
  }
  const auto d = static_cast<double>(magnitude);
  return v < 0 ? -d : d;
}

}  // namespace weft
