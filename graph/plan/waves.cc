// Waves: adjacent independent steps that are too small to use all cores alone.
#include <algorithm>

#include "weft/graph/plan/layout.h"

namespace weft {
namespace {

constexpr std::size_t kMaxSteps = 16;
constexpr std::int64_t kManyChunks = 32;  // a step with 32 chunks or more can use all cores alone
constexpr double kLongNs = 500e3;  // for longer steps, the cost of starting a wave is negligible

bool is_small(const PlanStep& step) {
  if (step.control != nullptr || step.kernel.exchange) return false;
  std::int64_t chunks = 0;
  for (const Phase& p : step.kernel.phases) chunks = std::max(chunks, p.chunks);
  return chunks < kManyChunks && step.cost_ns < kLongNs;
}

class WaveFormer {
 public:
  WaveFormer(Plan& plan, const BufferGroups& groups)
      : plan_(plan),
        groups_(groups),
        written_(plan.values.size()),
        read_(plan.values.size()),
        overwritten_(plan.values.size()),
        begins_(plan.steps.size()),
        ends_(plan.steps.size()) {
    for (const BufferGroups::Group& g : groups.groups) {
      if (!g.first_value.defined()) continue;
      begins_[g.begin] += g.bytes;
      if (ends_.contains(g.end)) ends_[g.end] += g.bytes;
    }
    std::size_t live = 0;
    for (const StepId s : plan.steps.ids()) {
      live += begins_[s];
      peak_ = std::max(peak_, live);
      live -= ends_[s];
    }
  }

  void run(StepId break_at) {
    for (const StepId s : plan_.steps.ids()) {
      const bool small = is_small(plan_.steps[s]);
      if (plan_.waves.empty() || !open_ || !small || s == break_at || !fits(s)) start_wave();
      add(s);
      open_ = small;
    }
  }

 private:
  WaveId wave() const { return plan_.waves.end_id() - 1; }

  bool fits(StepId s) const {
    const WaveId w = wave();
    if (plan_.waves.back().steps.size() >= kMaxSteps) return false;
    if (live_ + begins_[s] > peak_) return false;
    for (const ValueId id : plan_.steps[s].inputs) {
      const ValueId root = root_of(plan_, id);
      if (!root.defined()) continue;
      if (written_[root] == w || overwritten_[root] == w) return false;
    }
    for (const ValueId root : groups_.overwrites[s]) {
      if (read_[root] == w) return false;
    }
    return true;
  }

  void start_wave() {
    live_ -= dying_;
    dying_ = 0;
    plan_.waves.push_back({});
  }

  void add(StepId s) {
    const WaveId w = wave();
    PlanStep& step = plan_.steps[s];
    step.wave = w;
    plan_.waves.back().steps.push_back(s);
    live_ += begins_[s];
    dying_ += ends_[s];
    for (const ValueId id : step.inputs) {
      if (id.defined()) read_[root_of(plan_, id)] = w;
    }
    for (const ValueId id : step.outputs) {
      if (id.defined()) written_[id] = w;
    }
    for (const ValueId root : groups_.overwrites[s]) {
      overwritten_[root] = w;
    }
  }

  Plan& plan_;
  const BufferGroups& groups_;
  IdVector<ValueId, WaveId> written_, read_, overwritten_;  // indexed by root: the last such wave
  IdVector<StepId, std::size_t> begins_, ends_;             // bytes that a step allocates and frees
  std::size_t peak_ = 0, live_ = 0, dying_ = 0;
  bool open_ = false;
};

}  // namespace

void form_waves(Plan& plan, const BufferGroups& groups, StepId break_at) {
  WaveFormer(plan, groups).run(break_at);
}

}  // namespace weft
