#include "weft/graph/plan/liveness.h"

#include <algorithm>

#include "weft/graph/plan/control_plan.h"

namespace weft {
Liveness find_liveness(const Plan& plan) {
  Liveness liveness;
  liveness.producer.resize(plan.values.size());
  liveness.readers.resize(plan.values.size());
  liveness.at_end.assign(plan.values.size(), 0);
  for (const StepId s : plan.steps.ids()) {
    for (const ValueId id : plan.steps[s].outputs) {
      if (id.defined()) liveness.producer[id] = s;
    }
    for (const ValueId id : plan.steps[s].inputs) {
      const ValueId root = root_of(plan, id);
      if (!root.defined()) continue;
      std::vector<StepId>& readers = liveness.readers[root];
      if (readers.empty() || readers.back() != s) {
        readers.push_back(s);
      }
    }
  }
  for (const PlanOutput& o : plan.outputs) {
    const ValueId root = root_of(plan, o.value);
    if (!o.streamed || !liveness.producer[root].defined()) liveness.at_end[root] = 1;
  }
  for (const PlanUpdate& u : plan.updates) {
    liveness.at_end[root_of(plan, u.value)] = 1;
  }
  return liveness;
}

CompiledProgram::Leaf leaf_of(const Plan& plan, ValueId value) {
  const CompiledProgram& c = *plan.program;
  if (!c.values.contains(value)) return {};
  return c.leaves[c.values[value].node];
}

IdVector<VariableId, ValueId> variable_reads(const Plan& plan) {
  const CompiledProgram& c = *plan.program;
  IdVector<VariableId, ValueId> reads(c.variables.size());
  for (const NodeId n : c.nodes.ids()) {
    const VariableId variable = c.leaves[n].variable();
    if (variable.defined()) reads[variable] = c.first_value[n];
  }
  return reads;
}

bool may_overwrite(const Plan& plan, const PlanStep& step, int output, int input) {
  if (step.node == nullptr) return false;
  // Checks first that the operands exist, because op records with many operands list many pairs,
  // but a node has only a few of the operands.
  const auto o = static_cast<std::size_t>(output), i = static_cast<std::size_t>(input);
  if (o >= step.outputs.size() || i >= step.inputs.size()) return false;
  if (!step.outputs[o].defined() || !step.inputs[i].defined()) return false;
  const auto& allowed = step.may_inplace();
  if (std::find(allowed.begin(), allowed.end(), std::pair(output, input)) == allowed.end()) {
    return false;
  }
  const PlanValue& to = plan.values[step.outputs[o]];
  const PlanValue& from = plan.values[step.inputs[i]];
  if (to.sizes != from.sizes || dtype_size(to.dtype) != dtype_size(from.dtype)) return false;
  for (std::size_t other = 0; other < step.inputs.size(); ++other) {
    if (other != i && root_of(plan, step.inputs[other]) == from.root) return false;
  }
  return true;
}

std::vector<StepId> check_producers(const Plan& plan, const Liveness& liveness,
                                    const PlanStep& step) {
  std::vector<StepId> result;
  if (!step.kernel.check) return result;
  for (const ValueId id : step.inputs) {
    if (!id.defined() || !is_integer(plan.values[id].dtype)) continue;
    const StepId producer = liveness.producer[root_of(plan, id)];
    if (producer.defined()) result.push_back(producer);
  }
  return result;
}

std::vector<StepId> check_producers(const Plan& plan, const Liveness& liveness) {
  std::vector<StepId> result;
  for (const StepId s : plan.steps.ids()) {
    const PlanStep& step = plan.steps[s];
    for (const StepId p : check_producers(plan, liveness, step)) result.push_back(p);
    if (step.control != nullptr && step.control->checks) result.push_back(s);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace weft
