// Limited-memory BFGS (Nocedal 1980; Liu and Nocedal 1989): for smooth convex losses over all data
// at once it needs tens of evaluations where first-order methods need thousands.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

struct LbfgsOptions {
  std::int64_t iterations = 200;  // at most
  double tolerance = 1e-7;        // ends where no element of the gradient is larger
  std::int64_t memory = 10;       // pairs of steps and gradient differences that are kept
};

struct LbfgsResult {
  std::vector<double> x;
  double value = 0;
  double gradient = 0;  // its largest element
  std::int64_t iterations = 0, evaluations = 0;
};

/// Minimises f from `start`; `evaluate` returns f(x) and writes its gradient, as long as x. Steps
/// are halved until f has decreased enough (Armijo); where no step does, rounding is all that is
/// left, and that is the end.
LbfgsResult minimise_lbfgs(const std::function<double(const std::vector<double>& x,
                                                      std::vector<double>& gradient)>& evaluate,
                           std::vector<double> start, const LbfgsOptions& options = {});

}  // namespace weft
