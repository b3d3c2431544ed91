// Rounding of integers to multiples.
#pragma once

#include <concepts>
#include <cstddef>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Alignment in bytes of tensors and of other data in the same memory block. This is the size of a
/// cache line and of the widest vector.
inline constexpr std::size_t kTensorAlignment = 64;

/// Returns a / b rounded up, for a >= 0 and b > 0.
template <std::integral T>
constexpr T divide_up(T a, T b) {
  return (a + b - 1) / b;
}

/// Returns the smallest multiple of b that is not less than a, for a >= 0 and b > 0.
template <std::integral T>
constexpr T round_up(T a, T b) {
  return divide_up(a, b) * b;
}

/// Returns `bytes` rounded up to a multiple of kTensorAlignment, so that subsequent data is
/// aligned.
constexpr std::size_t aligned_size(std::size_t bytes) { return round_up(bytes, kTensorAlignment); }

}  // namespace weft
