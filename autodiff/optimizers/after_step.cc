#include "weft/autodiff/optimizers/after_step.h"

#include "weft/graph/functions/arithmetic.h"

namespace weft {

AfterStep::AfterStep(const TrainingStep& step) : taken_(step.taken) {
  for (const auto& [variable, value] : Program("step").update(step.updates).updates())
    after_[variable.value()] = value;
}

Value AfterStep::value(const Variable& variable) const {
  const auto found = after_.find(variable.value());
  return found == after_.end() ? variable.value() : found->second;
}

void AfterStep::add(Updates& to, const Variable& variable, Value value) const {
  to.add(variable, taken_.defined() ? where(taken_, value, variable.value()) : value);
}

}  // namespace weft
