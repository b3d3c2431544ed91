// Numerical derivatives of functions of one variable, with error estimates.
#pragma once

#include <algorithm>
#include <cmath>

#include "weft/core/export.h"

namespace WEFT_API weft {

// A difference quotient and a bound on its distance from the derivative.
struct Difference {
  double value = 0;
  double error = HUGE_VAL;             // truncation error plus rounding error
  double truncation_error = HUGE_VAL;  // truncation error, caused by the finite step size
};

// Returns the derivative of `f` at 0. At each step size h, it extrapolates the fourth-order central
// differences of step sizes h and h/2. Starts with `largest_step` and shrinks h until the error is
// below `floor`, small relative to the derivative, or dominated by rounding.
template <class F>
Difference differentiate(F&& f, double largest_step, double floor) {
  // Assumed relative error of one evaluation of f.
  constexpr double kNoise = 32 * 0x1p-53;
  constexpr double kShrink = 8;
  constexpr int kSteps = 5;
  // Relative error at which the search stops.
  constexpr double kGood = 1e-9;
  Difference best;
  double h = largest_step;
  for (int i = 0; i < kSteps; ++i, h /= kShrink) {
    double size = 0;
    const auto spread = [&](double distance) {
      const double above = f(distance), below = f(-distance);
      size = std::max({size, std::abs(above), std::abs(below)});
      return above - below;
    };
    const double far = spread(2 * h), middle = spread(h), near = spread(h / 2);
    const double coarse = (8 * middle - far) / (12 * h), fine = (8 * near - middle) / (6 * h);
    const double truncation_error = std::abs(fine - coarse), rounding_error = kNoise * size / h;
    if (truncation_error + rounding_error < best.error) {
      best = {fine + (fine - coarse) / 15, truncation_error + rounding_error, truncation_error};
    }
    if (best.error <= std::max(floor, kGood * std::abs(best.value))) break;
    if (rounding_error > truncation_error) break;  // smaller steps only increase the rounding error
  }
  return best;
}

}  // namespace weft
