// Derivatives of functions of one number by differences, with their errors.
#pragma once

#include <algorithm>
#include <cmath>

#include "weft/core/export.h"

namespace WEFT_API weft {

// A difference, and how far it may be from the derivative.
struct Difference {
  double value = 0;
  double error = HUGE_VAL;  // of the step, and of rounding
  double of_step = HUGE_VAL;
};

// The derivative at 0 of a function of one number: at each step size h the fourth-order central
// differences of h and h/2, extrapolated. `floor` is an error that nobody minds.
template <class F>
Difference differentiate(F&& f, double largest_step, double floor) {
  // Errors of evaluating f, in units of the last place of its values.
  constexpr double kNoise = 32 * 0x1p-53;
  constexpr double kShrink = 8;
  constexpr int kSteps = 5;
  // What is known this well is not looked at again.
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
    const double of_step = std::abs(fine - coarse), of_rounding = kNoise * size / h;
    if (of_step + of_rounding < best.error) {
      best = {fine + (fine - coarse) / 15, of_step + of_rounding, of_step};
    }
    if (best.error <= std::max(floor, kGood * std::abs(best.value))) break;
    if (of_rounding > of_step) break;  // and larger with smaller steps
  }
  return best;
}

}  // namespace weft
