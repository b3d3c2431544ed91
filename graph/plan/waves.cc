// Waves: adjacent independent steps that are too small to fill the machine alone.
#include <algorithm>

#include "weft/graph/plan/layout.h"

namespace weft {
namespace {

using Index = std::size_t;
constexpr std::size_t kMostSteps = 16;
constexpr std::int64_t kManyChunks = 32;  // fills any machine, as far as waves go
constexpr double kLongNs = 500e3;         // so long that starting it alone costs nothing

bool is_small(const PlanStep& step) {
  std::int64_t chunks = 0;
  for (const Phase& p : step.kernel.phases) chunks = std::max(chunks, p.chunks);
  return chunks < kManyChunks && step.cost_ns < kLongNs;
}

class WaveFormer {
 public:
  WaveFormer(Plan& plan, const Occupation& occupation)
      : plan_(plan),
        o_(occupation),
        written_(plan.values.size(), -1),
        read_(plan.values.size(), -1),
        overwritten_(plan.values.size(), -1),
        begins_(plan.steps.size(), 0),
        ends_(plan.steps.size(), 0) {
    for (const Occupation::Group& g : occupation.groups) {
      if (g.first_value < 0) continue;
      begins_[static_cast<Index>(g.begin)] += g.bytes;
      if (static_cast<Index>(g.end) < ends_.size()) ends_[static_cast<Index>(g.end)] += g.bytes;
    }
    std::size_t live = 0;
    for (Index s = 0; s < begins_.size(); ++s) {
      live += begins_[s];
      peak_ = std::max(peak_, live);
      live -= ends_[s];
    }
  }

  void run(int break_at) {
    for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s) {
      const bool small = is_small(plan_.steps[static_cast<Index>(s)]);
      if (plan_.waves.empty() || !open_ || !small || s == break_at || !fits(s)) start_wave();
      add(s);
      open_ = small;
    }
  }

 private:
  int wave() const { return static_cast<int>(plan_.waves.size()) - 1; }

  bool fits(int s) const {
    const int w = wave();
    if (plan_.waves.back().steps.size() >= kMostSteps) return false;
    if (live_ + begins_[static_cast<Index>(s)] > peak_) return false;
    for (int id : plan_.steps[static_cast<Index>(s)].inputs) {
      const int root = root_of(plan_, id);
      if (root < 0) continue;
      const auto r = static_cast<Index>(root);
      if (written_[r] == w || overwritten_[r] == w) return false;
    }
    for (int root : o_.overwrites[static_cast<Index>(s)]) {
      if (read_[static_cast<Index>(root)] == w) return false;
    }
    return true;
  }

  void start_wave() {
    live_ -= dying_;
    dying_ = 0;
    plan_.waves.emplace_back();
  }

  void add(int s) {
    const int w = wave();
    PlanStep& step = plan_.steps[static_cast<Index>(s)];
    step.wave = w;
    plan_.waves.back().steps.push_back(s);
    live_ += begins_[static_cast<Index>(s)];
    dying_ += ends_[static_cast<Index>(s)];
    for (int id : step.inputs) {
      if (id >= 0) read_[static_cast<Index>(root_of(plan_, id))] = w;
    }
    for (int id : step.outputs) {
      if (id >= 0) written_[static_cast<Index>(id)] = w;
    }
    for (int root : o_.overwrites[static_cast<Index>(s)]) {
      overwritten_[static_cast<Index>(root)] = w;
    }
  }

  Plan& plan_;
  const Occupation& o_;
  std::vector<int> written_, read_, overwritten_;  // last wave, by root
  std::vector<std::size_t> begins_, ends_;         // bytes per step
  std::size_t peak_ = 0, live_ = 0, dying_ = 0;
  bool open_ = false;
};

}  // namespace

void form_waves(Plan& plan, const Occupation& occupation, int break_at) {
  WaveFormer(plan, occupation).run(break_at);
}

}  // namespace weft
