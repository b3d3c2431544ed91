// Weights of cubic interpolation.
#pragma once

#include <vector>

#include "weft/graph/functions/arithmetic.h"

namespace weft::onnx {

/// The kernel of Keys (1981) at distances t in [0, 1] and [1, 2].
inline Value cubic_near(Value t, double a) { return ((a + 2) * t - (a + 3)) * t * t + 1; }
inline Value cubic_far(Value t, double a) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; }

/// Returns the weights of the elements at floor(x) - 1 to floor(x) + 2 for r = x - floor(x).
inline std::vector<Value> cubic_weights(Value r, double a) {
  return {cubic_far(r + 1, a), cubic_near(r, a), cubic_near(1 - r, a), cubic_far(2 - r, a)};
}

}  // namespace weft::onnx
