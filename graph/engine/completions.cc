#include "weft/graph/engine/completions.h"

#include <algorithm>

namespace weft {

IdVector<WaveId, std::vector<std::size_t>> completions(const Plan& plan) {
  const auto buffer_of = [&](ValueId v) { return plan.values[plan.values[v].root].buffer; };
  IdVector<BufferId, WaveId> last(plan.buffers.size(), plan.waves.end_id() - 1);
  for (const PlanStep& step : plan.steps) {
    for (const ValueId v : step.outputs) {
      if (v.defined() && buffer_of(v).defined()) last[buffer_of(v)] = WaveId(0);
    }
  }
  IdVector<ValueId, WaveId> made(plan.values.size(), WaveId(0));
  for (const PlanStep& step : plan.steps) {
    for (const ValueId v : step.outputs) {
      if (!v.defined() || !buffer_of(v).defined()) continue;
      made[v] = step.wave;
      WaveId& wave = last[buffer_of(v)];
      wave = std::max(wave, step.wave);
    }
  }
  IdVector<WaveId, std::vector<std::size_t>> complete(plan.waves.size());
  for (std::size_t i = 0; i < plan.outputs.size() && !plan.waves.empty(); ++i) {
    const PlanOutput& output = plan.outputs[i];
    if (output.streamed) {
      complete[made[plan.values[output.value].root]].push_back(i);
    } else if (output.direct) {
      complete[last[buffer_of(output.value)]].push_back(i);
    }
  }
  return complete;
}

}  // namespace weft
