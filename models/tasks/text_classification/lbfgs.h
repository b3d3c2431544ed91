// Limited-memory BFGS (Nocedal 1980; Liu and Nocedal 1989). For smooth convex full-batch losses, it
// needs tens of evaluations, while first-order methods need thousands.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

struct LbfgsOptions {
  std::int64_t iterations = 200;  // maximum number of iterations
  double tolerance = 1e-7;        // stop if no gradient element has a larger absolute value
  std::int64_t memory = 10;       // number of stored (step, gradient difference) pairs
};

struct LbfgsResult {
  std::vector<double> x;
  double value = 0;
  double gradient = 0;  // largest absolute element of the gradient
  std::int64_t iterations = 0, evaluations = 0;
};

/// Minimises f, starting at `start`. `evaluate` returns f(x) and writes the gradient, which has the
/// same size as x. The line search halves the step until f decreases sufficiently (Armijo
/// condition). If no step satisfies the condition, the remaining error is due to rounding, and the
/// minimisation ends.
LbfgsResult minimise_lbfgs(const std::function<double(const std::vector<double>& x,
                                                      std::vector<double>& gradient)>& evaluate,
                           std::vector<double> start, const LbfgsOptions& options = {});

}  // namespace weft
