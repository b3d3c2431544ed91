// Line search for descent methods on smooth functions.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/export.h"
#include "weft/core/function_ref.h"

namespace WEFT_API weft {

/// A point x = x0 + t * direction of a line, with the function value and its derivatives there.
struct LinePoint {
  double t = 0;
  double loss = 0;
  double slope = 0;  // derivative of the loss with respect to t
  std::vector<double> x = {};
  std::vector<double> gradient = {};

  /// Returns true if the loss and the gradient are finite.
  bool is_finite() const;
};

/// The strong Wolfe conditions for a step from `start` to t:
///   loss(t) <= start.loss + c1 * t * start.slope  and  |slope(t)| <= c2 * |start.slope|
struct WolfeConditions {
  double c1 = 1e-4;
  double c2 = 0.9;
};

/// Searches a point that meets the strong Wolfe conditions, beginning with t = `first`: algorithms
/// 3.5 and 3.6 of Nocedal and Wright, "Numerical Optimization", 2006, with safeguarded cubic
/// interpolation. Points with a loss or gradient that is not finite count as too far away.
/// `evaluate(t)` is called at most `evaluations` times; `start.slope` must be negative. If no such
/// point is found, returns the point with the smallest loss among those with sufficient decrease
/// (the first condition), or else `start`, with t = 0. The returned loss never exceeds start.loss.
LinePoint strong_wolfe(const LinePoint& start, double first, const WolfeConditions& conditions,
                       std::int64_t evaluations, FunctionRef<LinePoint(double t)> evaluate);

}  // namespace weft
