#include "weft/graph/plan/recompute.h"

#include <algorithm>
#include <queue>

namespace weft {
namespace {

using Index = std::size_t;

constexpr std::size_t kMostTogether = 96;  // steps that one decision may make run again
constexpr std::size_t kSmallPart = 16;     // an operand this much smaller is kept, not remade
constexpr std::size_t kFewBytes = 4096;    // of the peak: what is smaller is no candidate
constexpr Index kBins = 96;                // positions are seen in this many groups
constexpr int kMostRounds = 3;
constexpr std::size_t kForbidden = std::size_t{1} << 52;  // bytes: worse than any plan

std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

std::vector<int> producers_of(const RecomputeProblem& p) {
  std::vector<int> producer(p.bytes.size(), -1);
  for (Index s = 0; s < p.steps.size(); ++s) {
    for (int b : p.steps[s].writes) producer[static_cast<Index>(b)] = static_cast<int>(s);
  }
  return producer;
}

// Follows the bytes that live through the order of runs; keeps its memory between calls.
class Simulator {
 public:
  explicit Simulator(const RecomputeProblem& p)
      : p_(p), producer_(producers_of(p)), done_(p.steps.size(), 0) {}

  const std::vector<int>& producer() const { return producer_; }

  const std::vector<StepRun>& order(const Recomputed& recomputed) {
    runs_.clear();
    ++stamp_;
    for (Index s = 0; s < p_.steps.size(); ++s) {
      const int before = static_cast<int>(s);
      need_operands(before, before, recomputed);
      runs_.push_back({before, false, before});
    }
    return runs_;
  }

  // Live bytes at every step, runs for its sake included; returns the peak.
  std::size_t live(const Recomputed& recomputed, std::vector<std::size_t>& at) {
    order(recomputed);
    const auto buffers = static_cast<int>(p_.bytes.size());
    const auto id = [&](int b, const StepRun& run) {
      return reads_again(recomputed, producer_[static_cast<Index>(b)], run.before) ? b + buffers
                                                                                   : b;
    };
    last_use_.assign(p_.bytes.size() * 2, -1);
    for (Index r = 0; r < runs_.size(); ++r) {
      const RecomputeProblem::Step& step = p_.steps[static_cast<Index>(runs_[r].step)];
      for (int b : step.reads) last_use_[static_cast<Index>(id(b, runs_[r]))] = static_cast<int>(r);
    }
    at.assign(p_.steps.size(), 0);
    std::size_t live = 0, peak = 0;
    for (Index r = 0; r < runs_.size(); ++r) {
      const StepRun& run = runs_[r];
      const RecomputeProblem::Step& step = p_.steps[static_cast<Index>(run.step)];
      const int now = static_cast<int>(r);
      if (run.again && run.before > step.repeat_before) live += kForbidden;
      const auto dies = [&](int b) {
        const auto i = static_cast<Index>(b);
        return producer_[i] >= 0 && !p_.kept[i] && last_use_[static_cast<Index>(id(b, run))] == now;
      };
      std::size_t shared = 0;
      taken_.clear();
      for (const auto& [to, from] : step.inplace) {
        const bool free = std::find(taken_.begin(), taken_.end(), from) == taken_.end() &&
                          std::find(taken_.begin(), taken_.end(), to) == taken_.end();
        if (!free || !dies(from) || p_.bytes[static_cast<Index>(to)] == 0) continue;
        shared += rounded(p_.bytes[static_cast<Index>(from)]);
        taken_.push_back(from);
        taken_.push_back(to);
      }
      for (int b : step.writes) live += rounded(p_.bytes[static_cast<Index>(b)]);
      live -= shared;
      std::size_t& here = at[static_cast<Index>(run.before)];
      here = std::max(here, live + rounded(step.scratch));
      peak = std::max(peak, here);
      live += shared;
      for (int b : step.reads) {
        if (dies(b)) live -= rounded(p_.bytes[static_cast<Index>(b)]);
      }
      for (int b : step.writes) {
        const auto i = static_cast<Index>(b);
        const auto own = static_cast<Index>(run.again ? b + buffers : b);
        if (last_use_[own] < 0 && !p_.kept[i]) live -= rounded(p_.bytes[i]);
      }
    }
    return peak;
  }

 private:
  // Second runs of everything that step `s` reads when it runs for `before`, operands first.
  void need_operands(int s, int before, const Recomputed& recomputed) {
    stack_.push_back({s, 0});
    while (!stack_.empty()) {
      auto& [step, next] = stack_.back();
      const std::vector<int>& reads = p_.steps[static_cast<Index>(step)].reads;
      if (next == reads.size()) {
        const int finished = step;
        stack_.pop_back();
        if (!stack_.empty()) runs_.push_back({finished, true, before});
        continue;
      }
      const int producer = producer_[static_cast<Index>(reads[next++])];
      if (!reads_again(recomputed, producer, before)) continue;
      if (done_[static_cast<Index>(producer)] == stamp_) continue;
      done_[static_cast<Index>(producer)] = stamp_;
      stack_.push_back({producer, 0});
    }
  }

  const RecomputeProblem& p_;
  const std::vector<int> producer_;
  std::vector<int> done_;  // stamp of the order in which the step ran again
  int stamp_ = 0;
  std::vector<StepRun> runs_;
  std::vector<std::pair<int, Index>> stack_;
  std::vector<int> last_use_, taken_;
};

class Chooser {
 public:
  Chooser(const RecomputeProblem& p, std::size_t target)
      : p_(p),
        target_(target),
        simulator_(p),
        producer_(simulator_.producer()),
        again_(p.steps.size(), -1),
        last_read_(p.bytes.size(), -1),
        uses_(p.steps.size()),
        met_(p.steps.size(), 0) {
    for (Index s = 0; s < p_.steps.size(); ++s) {
      const int step = static_cast<int>(s);
      uses_[s].push_back(step);
      for (int b : p_.steps[s].reads) {
        last_read_[static_cast<Index>(b)] = step;
        const int from = producer_[static_cast<Index>(b)];
        if (from < 0) continue;
        std::vector<int>& uses = uses_[static_cast<Index>(from)];
        if (uses.back() != step) uses.push_back(step);
      }
    }
  }

  std::optional<Recomputed> run() {
    measure();
    for (int round = 0; round < kMostRounds && area_ > 0; ++round) {
      if (!improve()) break;
    }
    if (area_ > 0) return std::nullopt;
    keep_superfluous();
    return again_;
  }

 private:
  // A step that may run again for `until`, with all that must do so for its sake.
  struct Move {
    double gain = 0;  // bytes times positions, of what is too much
    double cost_ns = 0;
    std::vector<std::pair<int, int>> steps;  // and their cuts
    double score() const { return gain / std::max(cost_ns, 1.0); }
  };
  struct Candidate {
    double score;
    int step;
    int tries;
    bool operator<(const Candidate& o) const {
      return score != o.score ? score < o.score : step > o.step;
    }
  };

  // Updates excess and area; returns the area.
  double measure() {
    simulator_.live(again_, live_);
    area_ = 0;
    excess_.assign(kBins, 0);
    width_.assign(kBins, 0);
    for (Index s = 0; s < live_.size(); ++s) {
      if (live_[s] <= target_) continue;
      const double over = static_cast<double>(live_[s] - target_);
      area_ += over;
      excess_[bin(s)] += over;
      width_[bin(s)] += 1;
    }
    return area_;
  }
  Index bin(Index s) const { return s * kBins / live_.size(); }

  // What taking `bytes` away strictly between two steps is worth.
  double gain(int after, int until, double bytes) const {
    const auto first = static_cast<Index>(after + 1), last = static_cast<Index>(until);
    if (first >= last) return 0;
    double sum = 0;
    for (Index b = bin(first); b <= bin(last - 1); ++b) {
      if (width_[b] == 0) continue;
      const double begin = static_cast<double>(b * live_.size()) / kBins;
      const double end = static_cast<double>((b + 1) * live_.size()) / kBins;
      const double covered =
          std::min(end, static_cast<double>(last)) - std::max(begin, static_cast<double>(first));
      const double part = std::min(1.0, std::max(covered, 0.0) / (end - begin));
      sum += part * std::min(bytes * width_[b], excess_[b]);
    }
    return sum;
  }

  double result_bytes(int s, int read_after) const {
    double bytes = 0;
    for (int b : p_.steps[static_cast<Index>(s)].writes) {
      if (last_read_[static_cast<Index>(b)] > read_after) {
        bytes += static_cast<double>(p_.bytes[static_cast<Index>(b)]);
      }
    }
    return bytes;
  }

  bool may_repeat(int s, int before) const {
    const RecomputeProblem::Step& step = p_.steps[static_cast<Index>(s)];
    return step.repeatable && before <= step.repeat_before && again_[static_cast<Index>(s)] < 0;
  }

  // The last use of the step's results before `until`.
  int cut_before(int s, int until) const {
    const std::vector<int>& uses = uses_[static_cast<Index>(s)];
    return *std::prev(std::lower_bound(uses.begin(), uses.end(), until));
  }

  // The best move for one step; no steps in it if there is none.
  Move best_move(int s) {
    Move best;
    if (again_[static_cast<Index>(s)] >= 0) return best;
    const std::vector<int>& uses = uses_[static_cast<Index>(s)];
    for (Index u = 0; u + 1 < uses.size(); ++u) {
      if (!may_repeat(s, uses[u + 1])) continue;
      Move move;
      const double bytes = result_bytes(s, uses[u]);
      const double whole = gain(uses[u], uses[u + 1], bytes);
      if (whole <= best.gain || whole <= 0) continue;
      double extended = 0;
      if (!collect(s, uses[u], uses[u + 1], bytes, move, extended) || extended >= bytes) continue;
      move.gain = whole * (bytes - extended) / bytes;
      if (best.steps.empty() || move.score() > best.score()) best = std::move(move);
    }
    return best;
  }

  // All steps that must run again when `s` does, just before `until`; false if that is impossible.
  bool collect(int s, int cut, int until, double bytes, Move& move, double& extended) {
    ++stamp_;
    move.steps = {{s, cut}};
    met_[static_cast<Index>(s)] = stamp_;
    for (Index i = 0; i < move.steps.size(); ++i) {
      const RecomputeProblem::Step& step = p_.steps[static_cast<Index>(move.steps[i].first)];
      move.cost_ns += step.cost_ns;
      for (int b : step.reads) {
        const int from = producer_[static_cast<Index>(b)];
        if (from < 0 || p_.kept[static_cast<Index>(b)] ||
            last_read_[static_cast<Index>(b)] >= until || again_[static_cast<Index>(from)] >= 0 ||
            met_[static_cast<Index>(from)] == stamp_) {
          continue;
        }
        met_[static_cast<Index>(from)] = stamp_;
        const auto size = static_cast<double>(p_.bytes[static_cast<Index>(b)]);
        if (size * kSmallPart <= bytes || !may_repeat(from, until)) {
          extended += size;
          continue;
        }
        if (move.steps.size() == kMostTogether) return false;
        move.steps.emplace_back(from, cut_before(from, until));
      }
    }
    return true;
  }

  void apply(const Move& move) {
    for (const auto& [step, cut] : move.steps) again_[static_cast<Index>(step)] = cut;
  }
  void revert(const Move& move) {
    for (const auto& [step, cut] : move.steps) again_[static_cast<Index>(step)] = -1;
  }

  // One pass over all candidates, best first; false if nothing was gained.
  bool improve() {
    const std::size_t peak = *std::max_element(live_.begin(), live_.end());
    std::priority_queue<Candidate> queue;
    for (Index s = 0; s < p_.steps.size(); ++s) {
      const int step = static_cast<int>(s);
      if (result_bytes(step, step) * kFewBytes < static_cast<double>(peak)) continue;
      const Move move = best_move(step);
      if (!move.steps.empty()) queue.push({move.score(), step, 0});
    }
    bool gained = false;
    while (!queue.empty() && area_ > 0) {
      const Candidate top = queue.top();
      queue.pop();
      const Move move = best_move(top.step);
      if (move.steps.empty()) continue;
      if (top.tries == 0 && !queue.empty() && move.score() < 0.8 * queue.top().score &&
          move.score() < 0.8 * top.score) {
        queue.push({move.score(), top.step, 0});  // others come first by now
        continue;
      }
      const double before = area_;
      apply(move);
      const double won = before - measure();
      if (won <= 0 || (top.tries == 0 && won < 0.3 * move.gain)) {
        revert(move);
        measure();
        if (top.tries == 0)
          queue.push({std::max(won, 0.05 * move.gain) / std::max(move.cost_ns, 1.0), top.step, 1});
        continue;
      }
      gained = true;
    }
    return gained;
  }

  void keep_superfluous() {
    std::vector<int> chosen;
    for (Index s = 0; s < again_.size(); ++s) {
      if (again_[s] >= 0) chosen.push_back(static_cast<int>(s));
    }
    std::stable_sort(chosen.begin(), chosen.end(), [&](int a, int b) {
      return p_.steps[static_cast<Index>(a)].cost_ns > p_.steps[static_cast<Index>(b)].cost_ns;
    });
    for (int s : chosen) {
      int& cut = again_[static_cast<Index>(s)];
      const int was = cut;
      cut = -1;
      if (simulator_.live(again_, live_) > target_) cut = was;
    }
    // What no run needs is not chosen.
    std::vector<char> runs(again_.size(), 0);
    for (const StepRun& run : simulator_.order(again_)) {
      if (run.again) runs[static_cast<Index>(run.step)] = 1;
    }
    for (Index s = 0; s < again_.size(); ++s) {
      if (!runs[s]) again_[s] = -1;
    }
  }

  const RecomputeProblem& p_;
  const std::size_t target_;
  Simulator simulator_;
  const std::vector<int>& producer_;
  Recomputed again_;
  std::vector<int> last_read_;          // per buffer
  std::vector<std::vector<int>> uses_;  // per step: itself and the readers of its results
  std::vector<std::size_t> live_;
  std::vector<double> excess_, width_;  // per bin: bytes too many, and at how many steps
  double area_ = 0;
  std::vector<int> met_;
  int stamp_ = 0;
};

}  // namespace

std::vector<StepRun> runs_of(const RecomputeProblem& problem, const Recomputed& recomputed) {
  return Simulator(problem).order(recomputed);
}

std::size_t peak_bytes(const RecomputeProblem& problem, const Recomputed& recomputed) {
  std::vector<std::size_t> at;
  return Simulator(problem).live(recomputed, at);
}

std::optional<Recomputed> choose_recomputed(const RecomputeProblem& problem, std::size_t target) {
  return Chooser(problem, target).run();
}

}  // namespace weft
