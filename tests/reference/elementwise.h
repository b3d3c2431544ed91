// Scalar reference functions for the elementwise ops in long double, and distances between floats.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "weft/core/shape.h"

namespace weft::testing {

/// Returns the distance of `got` from `want` in units in the last place of `want` rounded to T.
/// Infinite if only one of them is NaN or infinite, or if zeros differ in sign.
template <class T>
double ulp_distance(T got, long double want) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  if (std::isnan(want)) return std::isnan(got) ? 0 : kFar;
  const T rounded = static_cast<T>(want);
  if (got == rounded) return std::signbit(got) == std::signbit(rounded) ? 0 : kFar;
  if (!std::isfinite(got) || !std::isfinite(rounded)) return kFar;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  const int digits = std::numeric_limits<T>::digits;
  const int least = std::numeric_limits<T>::min_exponent - digits;
  const long double unit = std::ldexp(1.0L, std::max(exponent - digits, least));
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / unit);
}

using Oracle = std::function<long double(long double)>;

/// Returns the exact function of a unary op on f32 and f64 (except clamp). Throws std::out_of_range
/// for other ops.
Oracle unary_oracle(const std::string& op);

/// Returns the position in a flattened operand of sizes `from` that is broadcast to position `i` of
/// `to`.
std::int64_t broadcast_position(std::int64_t i, const Sizes& from, const Sizes& to);

}  // namespace weft::testing
