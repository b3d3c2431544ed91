// Integers rounded to multiples.
#pragma once

#include <concepts>
#include <cstddef>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Bytes that addresses of tensors and of what is beside them in one block are multiples of: a
/// cache line, and the widest vector.
inline constexpr std::size_t kTensorAlignment = 64;

/// a / b rounded up, for a >= 0 and b > 0.
template <std::integral T>
constexpr T divide_up(T a, T b) {
  return (a + b - 1) / b;
}

/// The least multiple of b that is not less than a, for a >= 0 and b > 0.
template <std::integral T>
constexpr T round_up(T a, T b) {
  return divide_up(a, b) * b;
}

/// What these bytes take where the next ones begin aligned.
constexpr std::size_t aligned_size(std::size_t bytes) { return round_up(bytes, kTensorAlignment); }

}  // namespace weft
