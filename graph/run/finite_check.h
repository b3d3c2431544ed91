// Which node first made a NaN or an infinity (SessionOptions::check_finite).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/graph/plan/plan.h"
#include "weft/ops/kernel.h"

namespace weft {

/// Looks at every value once, after the step that made it: its operands may be gone by the time
/// that somebody asks. Throws DataError with the node's operands, their ranges, scope and line.
class FiniteCheck {
 public:
  /// Operands that come from outside were looked at before in the bodies of loops, where
  /// `outermost` is false.
  FiniteCheck(Workers& workers, bool outermost) : workers_(workers), outermost_(outermost) {}

  /// Forgets the values of the run before.
  void begin(const Plan& plan);
  /// Looks at the inputs, variables and constants that `step` reads: a NaN in one is an error.
  void before(const Plan& plan, StepId step, const KernelRun& run);
  /// Looks at what `step` has made.
  void after(const Plan& plan, StepId step, const KernelRun& run);

 private:
  struct Range {
    bool seen = false;
    double min = 0, max = 0;                                         // of the finite elements
    std::int64_t elements = 0, nan = 0, positive = 0, negative = 0;  // how many; infinities by sign
    std::int64_t first = -1;  // flattened index of the first that is not finite
    bool finite() const { return nan == 0 && positive == 0 && negative == 0; }
    std::string text() const;
  };
  Range scan(const PlanValue& value, const void* data);

  Workers& workers_;
  const bool outermost_;
  IdVector<ValueId, Range> ranges_;  // by root
};

}  // namespace weft
