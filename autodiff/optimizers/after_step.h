// The values of variables after a training step, for updates that follow the step.
#pragma once

#include <unordered_map>

#include "weft/autodiff/optimizers/step.h"

namespace WEFT_API weft {

/// Reads variables as they are after a training step. Ema and polyak_updates() build their updates
/// with it.
class AfterStep {
 public:
  explicit AfterStep(const TrainingStep& step);

  /// Returns true if the step updates the variable. This includes updates that layers attach to
  /// their results, such as the running statistics of batch norm (with_update()).
  bool updates(const Variable& variable) const { return after_.contains(variable.value()); }
  /// Returns the value of the variable after the step: its new value, or the current value if the
  /// step does not update it.
  Value value(const Variable& variable) const;
  /// Adds an update of `variable`, which does not change it if the step is skipped.
  void add(Updates& to, const Variable& variable, Value value) const;

 private:
  Value taken_;
  std::unordered_map<Value, Value, ValueHash> after_;
};

}  // namespace weft
