// Sums of probabilities that are stored as f64 logarithms.
#pragma once

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"

namespace weft {

/// The logarithm of 0 in recurrences. Unlike -inf, it has differences and finite gradients of any
/// order. It is far below the sum of any number of finite f32 scores.
inline constexpr double kLogZero = -1e100;

/// Returns x as f64 with -inf replaced by kLogZero, through which no gradient flows.
inline Value log_scores(const Value& x) {
  const Value wide = cast(x, DType::f64);
  return where(less(wide, kLogZero), kLogZero, wide);
}
/// Returns true for sums over paths that all contain kLogZero. False for NaN.
inline Value is_log_zero(const Value& x) { return less(x, kLogZero / 2); }

/// Returns ln(exp(a) + exp(b)) for f64 without infinities. Either branch is a smooth function of a
/// and b, so derivatives of any order are correct if a equals b, too.
inline Value log_add(const Value& a, const Value& b) {
  const Value d = a - b, first = greater(d, 0);
  return where(first, a, b) + softplus(where(first, -d, d));
}

}  // namespace weft
