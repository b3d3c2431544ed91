#include "weft/graph/plan/uses.h"

#include <algorithm>

namespace weft {
namespace {
using Index = std::size_t;
}

Uses collect_uses(const Plan& plan) {
  Uses uses;
  uses.producer.assign(plan.values.size(), -1);
  uses.readers.resize(plan.values.size());
  uses.at_end.assign(plan.values.size(), 0);
  for (Index s = 0; s < plan.steps.size(); ++s) {
    for (int id : plan.steps[s].outputs) {
      if (id >= 0) uses.producer[static_cast<Index>(id)] = static_cast<int>(s);
    }
    for (int id : plan.steps[s].inputs) {
      const int root = root_of(plan, id);
      if (root < 0) continue;
      std::vector<int>& readers = uses.readers[static_cast<Index>(root)];
      if (readers.empty() || readers.back() != static_cast<int>(s)) {
        readers.push_back(static_cast<int>(s));
      }
    }
  }
  for (const PlanOutput& o : plan.outputs) {
    uses.at_end[static_cast<Index>(root_of(plan, o.value))] = 1;
  }
  for (const PlanUpdate& u : plan.updates) {
    uses.at_end[static_cast<Index>(root_of(plan, u.value))] = 1;
  }
  return uses;
}

CompiledProgram::Leaf leaf_of(const Plan& plan, int value) {
  const CompiledProgram& c = *plan.program;
  if (static_cast<Index>(value) >= c.values.size()) return {};
  return c.leaves[static_cast<Index>(c.values[static_cast<Index>(value)].node)];
}

std::vector<int> variable_reads(const Plan& plan) {
  const CompiledProgram& c = *plan.program;
  std::vector<int> reads(c.variables.size(), -1);
  for (Index n = 0; n < c.nodes.size(); ++n) {
    const CompiledProgram::Leaf& leaf = c.leaves[n];
    if (leaf.kind == CompiledProgram::LeafKind::variable) {
      reads[static_cast<Index>(leaf.index)] = c.first_value[n];
    }
  }
  return reads;
}

bool may_overwrite(const Plan& plan, const PlanStep& step, int output, int input) {
  if (step.node == nullptr) return false;
  // Existence first: records of many operands list many pairs, of which a node has few.
  const auto o = static_cast<Index>(output), i = static_cast<Index>(input);
  if (o >= step.outputs.size() || i >= step.inputs.size()) return false;
  if (step.outputs[o] < 0 || step.inputs[i] < 0) return false;
  const auto& allowed = step.node->op().inplace;
  if (std::find(allowed.begin(), allowed.end(), std::pair(output, input)) == allowed.end()) {
    return false;
  }
  const PlanValue& to = plan.values[static_cast<Index>(step.outputs[o])];
  const PlanValue& from = plan.values[static_cast<Index>(step.inputs[i])];
  if (to.sizes != from.sizes || dtype_size(to.dtype) != dtype_size(from.dtype)) return false;
  for (Index other = 0; other < step.inputs.size(); ++other) {
    if (other != i && root_of(plan, step.inputs[other]) == from.root) return false;
  }
  return true;
}

std::vector<int> check_producers(const Plan& plan, const Uses& uses, const PlanStep& step) {
  std::vector<int> result;
  if (!step.kernel.check) return result;
  for (int id : step.inputs) {
    if (id < 0 || !is_integer(plan.values[static_cast<Index>(id)].dtype)) continue;
    const int producer = uses.producer[static_cast<Index>(root_of(plan, id))];
    if (producer >= 0) result.push_back(producer);
  }
  return result;
}

std::vector<int> check_producers(const Plan& plan, const Uses& uses) {
  std::vector<int> result;
  for (const PlanStep& step : plan.steps) {
    for (int p : check_producers(plan, uses, step)) result.push_back(p);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace weft
