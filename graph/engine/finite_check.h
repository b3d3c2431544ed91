// Finds the node that first produced a NaN or an infinity (SessionOptions::check_finite).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/graph/plan/plan.h"
#include "weft/ops/kernel.h"

namespace weft {

/// Scans every value once, right after the step that computed it, because operands may be freed
/// before an error is reported. Throws a DataError that describes the node's operands with their
/// ranges, its scope and its source line.
class FiniteCheck {
 public:
  /// `outermost` is false in the bodies of loops and branches, because operands from the enclosing
  /// program have already been checked.
  FiniteCheck(Workers& workers, bool outermost) : workers_(workers), outermost_(outermost) {}

  /// Discards the ranges of the previous run.
  void begin(const Plan& plan);
  /// Scans the inputs, variables and constants that `step` reads. A NaN in an input or a variable
  /// is an error.
  void before(const Plan& plan, StepId step, const KernelRun& run);
  /// Checks the outputs of `step`.
  void after(const Plan& plan, StepId step, const KernelRun& run);

 private:
  struct Range {
    bool seen = false;
    double min = 0, max = 0;                                         // over the finite elements
    std::int64_t elements = 0, nan = 0, positive = 0, negative = 0;  // counts; infinities by sign
    std::int64_t first = -1;  // flat index of the first non-finite element
    bool finite() const { return nan == 0 && positive == 0 && negative == 0; }
    std::string text() const;
  };
  Range scan(const PlanValue& value, const void* data);

  Workers& workers_;
  const bool outermost_;
  IdVector<ValueId, Range> ranges_;  // indexed by root value
};

}  // namespace weft
