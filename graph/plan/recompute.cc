#include "weft/graph/plan/recompute.h"

#include <algorithm>
#include <queue>

#include "weft/core/rounding.h"

namespace weft {
namespace {

using Index = std::size_t;

// Maximum number of steps that one move rematerialises. Longer chains cost too much time relative
// to the memory that they save.
constexpr std::size_t kMaxMoveSteps = 96;
// An operand that is smaller than its reader's results by this factor is kept alive and not
// rematerialised, because it needs little memory and rematerialising it would need its operands.
constexpr std::size_t kSmallOperand = 16;
// Results that are smaller than the peak by this factor are not candidates, because they hardly
// change the peak and there may be very many of them.
constexpr std::size_t kFewBytes = 4096;
// The order is divided into a fixed number of bins, and the excess is summed per bin. Estimating a
// move therefore takes the same time for a program with 100,000 steps as for a program with 100
// steps.
constexpr Index kBins = 96;
// Passes over all candidates. A pass may enable moves that were not possible before.
constexpr int kMaxRounds = 3;
// Penalty in bytes for a forbidden run. Exceeds the bytes of any plan and is far below overflow.
constexpr std::size_t kForbidden = std::size_t{1} << 52;

// Scores in the queue become stale, because every move changes the gains of other moves. If the
// current score of a move is below this fraction of the best queued score, the move is put back
// into the queue. For smaller differences, another estimate would cost more than the better order
// is worth.
constexpr double kStillBest = 0.8;
// The gain of a move is only an estimate until the resulting order is evaluated. On the first
// attempt, a move must save at least this fraction of the estimate; otherwise better moves would be
// tried too late.
constexpr double kMinYield = 0.3;
// A move that saved too little is queued once more with its measured saving, but with at least this
// fraction of the estimate: some moves save memory only after certain other moves, which are then
// made first.
constexpr double kSecondChance = 0.05;

IdVector<ValueId, StepId> producers_of(const RecomputeProblem& p) {
  IdVector<ValueId, StepId> producer(p.bytes.size());
  for (const StepId s : p.steps.ids()) {
    for (const ValueId b : p.steps[s].writes) producer[b] = s;
  }
  return producer;
}

// Simulates the runs in order and tracks the live bytes. Reuses its buffers between calls.
class Simulator {
 public:
  explicit Simulator(const RecomputeProblem& p)
      : p_(p), producer_(producers_of(p)), done_(p.steps.size()) {}

  const IdVector<ValueId, StepId>& producer() const { return producer_; }

  const std::vector<StepRun>& order(const Recomputed& recomputed) {
    runs_.clear();
    ++stamp_;
    for (const StepId s : p_.steps.ids()) {
      need_operands(s, s, recomputed);
      runs_.push_back({s, false, s});
    }
    return runs_;
  }

  // Computes the live bytes at every step, including the second runs that it needs. Returns the
  // peak.
  std::size_t live(const Recomputed& recomputed, IdVector<StepId, std::size_t>& at) {
    order(recomputed);
    // Rematerialised results are separate values, numbered after all others.
    const auto values = static_cast<int>(p_.bytes.size());
    const auto id = [&](ValueId b, const StepRun& run) {
      return reads_rematerialised(recomputed, producer_[b], run.before) ? b + values : b;
    };
    last_use_.assign(p_.bytes.size() * 2, kNever);
    for (Index r = 0; r < runs_.size(); ++r) {
      const RecomputeProblem::Step& step = p_.steps[runs_[r].step];
      for (const ValueId b : step.reads) last_use_[id(b, runs_[r])] = r;
    }
    at.assign(p_.steps.size(), 0);
    std::size_t live = 0, peak = 0;
    for (Index r = 0; r < runs_.size(); ++r) {
      const StepRun& run = runs_[r];
      const RecomputeProblem::Step& step = p_.steps[run.step];
      if (run.rematerialised && run.before > step.rematerialise_before) live += kForbidden;
      const auto dies = [&](ValueId b) {
        return producer_[b].defined() && !p_.live_out[b] && last_use_[id(b, run)] == r;
      };
      std::size_t shared = 0;
      taken_.clear();
      for (const auto& [to, from] : step.inplace) {
        const bool free = std::find(taken_.begin(), taken_.end(), from) == taken_.end() &&
                          std::find(taken_.begin(), taken_.end(), to) == taken_.end();
        if (!free || !dies(from) || p_.bytes[to] == 0) continue;
        shared += aligned_size(p_.bytes[from]);
        taken_.push_back(from);
        taken_.push_back(to);
      }
      for (const ValueId b : step.writes) live += aligned_size(p_.bytes[b]);
      live -= shared;
      std::size_t& here = at[run.before];
      here = std::max(here, live + aligned_size(step.scratch));
      peak = std::max(peak, here);
      live += shared;
      for (const ValueId b : step.reads) {
        if (dies(b)) live -= aligned_size(p_.bytes[b]);
      }
      for (const ValueId b : step.writes) {
        const ValueId own = run.rematerialised ? b + values : b;
        if (last_use_[own] == kNever && !p_.live_out[b]) live -= aligned_size(p_.bytes[b]);
      }
    }
    return peak;
  }

 private:
  // Schedules the recomputation of operands that `s` needs before step `before`, operands first.
  void need_operands(StepId s, StepId before, const Recomputed& recomputed) {
    stack_.emplace_back(s, 0);
    while (!stack_.empty()) {
      auto& [step, next] = stack_.back();
      const std::vector<ValueId>& reads = p_.steps[step].reads;
      if (next == reads.size()) {
        const StepId finished = step;
        stack_.pop_back();
        if (!stack_.empty()) runs_.push_back({finished, true, before});
        continue;
      }
      const StepId producer = producer_[reads[next++]];
      if (!reads_rematerialised(recomputed, producer, before)) continue;
      if (done_[producer] == stamp_) continue;
      done_[producer] = stamp_;
      stack_.emplace_back(producer, 0);
    }
  }

  const RecomputeProblem& p_;
  static constexpr Index kNever = std::numeric_limits<Index>::max();

  const IdVector<ValueId, StepId> producer_;
  IdVector<StepId, int> done_;  // stamp of the last order() that ran the step a second time
  int stamp_ = 0;
  std::vector<StepRun> runs_;
  std::vector<std::pair<StepId, Index>> stack_;  // a step and its number of processed operands
  IdVector<ValueId, Index> last_use_;            // index into runs_
  std::vector<ValueId> taken_;
};

class Chooser {
 public:
  Chooser(const RecomputeProblem& p, std::size_t target)
      : p_(p),
        target_(target),
        simulator_(p),
        producer_(simulator_.producer()),
        chosen_(p.steps.size()),
        last_read_(p.bytes.size()),
        uses_(p.steps.size()),
        visited_(p.steps.size()) {
    for (const StepId s : p_.steps.ids()) {
      uses_[s].push_back(s);
      for (const ValueId b : p_.steps[s].reads) {
        last_read_[b] = s;
        const StepId from = producer_[b];
        if (!from.defined()) continue;
        std::vector<StepId>& uses = uses_[from];
        if (uses.back() != s) uses.push_back(s);
      }
    }
  }

  std::optional<Recomputed> run() {
    measure();
    for (int round = 0; round < kMaxRounds && area_ > 0; ++round) {
      if (!improve()) break;
    }
    if (area_ > 0) return std::nullopt;
    drop_superfluous();
    return chosen_;
  }

 private:
  // A step to rematerialise, together with all steps that must be rematerialised for it.
  struct Move {
    double gain = 0;  // saved bytes above the target, summed over positions
    double cost_ns = 0;
    std::vector<std::pair<StepId, StepId>> steps;  // steps and their cuts
    double score() const { return gain / std::max(cost_ns, 1.0); }
  };
  struct Candidate {
    double score;
    StepId step;
    bool second_attempt;  // there is no third attempt
    bool operator<(const Candidate& o) const {
      return score != o.score ? score < o.score : step > o.step;
    }
  };

  // Recomputes the excess per bin and the total excess (area_). Returns the area.
  double measure() {
    simulator_.live(chosen_, live_);
    area_ = 0;
    excess_.assign(kBins, 0);
    width_.assign(kBins, 0);
    for (const StepId s : live_.ids()) {
      if (live_[s] <= target_) continue;
      const double over = static_cast<double>(live_[s] - target_);
      area_ += over;
      excess_[bin(s)] += over;
      width_[bin(s)] += 1;
    }
    return area_;
  }
  Index bin(StepId s) const { return s.index() * kBins / live_.size(); }

  // Returns the gain of freeing `bytes` strictly between two steps.
  double gain(StepId after, StepId until, double bytes) const {
    const StepId first = after + 1;
    if (first >= until) return 0;
    double sum = 0;
    for (Index b = bin(first); b <= bin(until - 1); ++b) {
      if (width_[b] == 0) continue;
      const double begin = static_cast<double>(b * live_.size()) / kBins;
      const double end = static_cast<double>((b + 1) * live_.size()) / kBins;
      const double covered =
          std::min<double>(end, until.number()) - std::max<double>(begin, first.number());
      const double part = std::min(1.0, std::max(covered, 0.0) / (end - begin));
      sum += part * std::min(bytes * width_[b], excess_[b]);
    }
    return sum;
  }

  double result_bytes(StepId s, StepId read_after) const {
    double bytes = 0;
    for (const ValueId b : p_.steps[s].writes) {
      if (last_read_[b] > read_after) {
        bytes += static_cast<double>(p_.bytes[b]);
      }
    }
    return bytes;
  }

  bool may_rematerialise(StepId s, StepId before) const {
    const RecomputeProblem::Step& step = p_.steps[s];
    return step.can_rematerialise && before <= step.rematerialise_before && !chosen_[s].defined();
  }

  // Returns the last use of the step's results before `until`.
  StepId cut_before(StepId s, StepId until) const {
    const std::vector<StepId>& uses = uses_[s];
    return *std::prev(std::lower_bound(uses.begin(), uses.end(), until));
  }

  // Returns the best move for one step; it contains no steps if there is no such move.
  Move best_move(StepId s) {
    Move best;
    if (chosen_[s].defined()) return best;
    const std::vector<StepId>& uses = uses_[s];
    for (Index u = 0; u + 1 < uses.size(); ++u) {
      if (!may_rematerialise(s, uses[u + 1])) continue;
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

  // Adds all steps that must be rematerialised together with `s` before `until` to `move`, and the
  // bytes of operands that stay live longer to `extended`. Returns false if `s` cannot be
  // rematerialised.
  bool collect(StepId s, StepId cut, StepId until, double bytes, Move& move, double& extended) {
    ++stamp_;
    move.steps = {{s, cut}};
    visited_[s] = stamp_;
    for (Index i = 0; i < move.steps.size(); ++i) {
      const RecomputeProblem::Step& step = p_.steps[move.steps[i].first];
      move.cost_ns += step.cost_ns;
      for (const ValueId b : step.reads) {
        const StepId from = producer_[b];
        if (!from.defined() || p_.live_out[b] || last_read_[b] >= until ||
            chosen_[from].defined() || visited_[from] == stamp_) {
          continue;
        }
        visited_[from] = stamp_;
        const auto size = static_cast<double>(p_.bytes[b]);
        if (size * kSmallOperand <= bytes || !may_rematerialise(from, until)) {
          extended += size;
          continue;
        }
        if (move.steps.size() == kMaxMoveSteps) return false;
        move.steps.emplace_back(from, cut_before(from, until));
      }
    }
    return true;
  }

  void apply(const Move& move) {
    for (const auto& [step, cut] : move.steps) chosen_[step] = cut;
  }
  void revert(const Move& move) {
    for (const auto& [step, cut] : move.steps) chosen_[step] = {};
  }

  // Makes one pass over all candidates, best first. Returns false if no move saved memory.
  bool improve() {
    const std::size_t peak = *std::max_element(live_.begin(), live_.end());
    std::priority_queue<Candidate> queue;
    for (const StepId s : p_.steps.ids()) {
      if (result_bytes(s, s) * kFewBytes < static_cast<double>(peak)) continue;
      const Move move = best_move(s);
      if (!move.steps.empty()) queue.push({move.score(), s, false});
    }
    bool gained = false;
    while (!queue.empty() && area_ > 0) {
      const Candidate top = queue.top();
      queue.pop();
      const Move move = best_move(top.step);
      if (move.steps.empty()) continue;
      const double stale = kStillBest * top.score;
      if (!top.second_attempt && !queue.empty() && move.score() < stale &&
          move.score() < kStillBest * queue.top().score) {
        queue.push({move.score(), top.step, false});
        continue;
      }
      const double before = area_;
      apply(move);
      const double saved = before - measure();
      const double wanted = top.second_attempt ? 0 : kMinYield * move.gain;
      if (saved > 0 && saved >= wanted) {
        gained = true;
        continue;
      }
      revert(move);
      measure();
      if (top.second_attempt) continue;
      const double expected = std::max(saved, kSecondChance * move.gain);
      queue.push({expected / std::max(move.cost_ns, 1.0), top.step, true});
    }
    return gained;
  }

  void drop_superfluous() {
    std::vector<StepId> steps;  // most expensive first
    for (const StepId s : chosen_.ids()) {
      if (chosen_[s].defined()) steps.push_back(s);
    }
    std::stable_sort(steps.begin(), steps.end(),
                     [&](StepId a, StepId b) { return p_.steps[a].cost_ns > p_.steps[b].cost_ns; });
    for (const StepId s : steps) {
      StepId& cut = chosen_[s];
      const StepId was = cut;
      cut = {};
      if (simulator_.live(chosen_, live_) > target_) cut = was;
    }
    // Clears steps whose second run is no longer needed.
    IdVector<StepId, char> runs(chosen_.size());
    for (const StepRun& run : simulator_.order(chosen_)) {
      if (run.rematerialised) runs[run.step] = 1;
    }
    for (const StepId s : chosen_.ids()) {
      if (!runs[s]) chosen_[s] = {};
    }
  }

  const RecomputeProblem& p_;
  const std::size_t target_;
  Simulator simulator_;
  const IdVector<ValueId, StepId>& producer_;
  Recomputed chosen_;
  IdVector<ValueId, StepId> last_read_;
  IdVector<StepId, std::vector<StepId>> uses_;  // the step itself and the readers of its results
  IdVector<StepId, std::size_t> live_;
  std::vector<double> excess_,
      width_;  // indexed by bin: excess bytes, and number of steps with excess
  double area_ = 0;
  IdVector<StepId, int> visited_;
  int stamp_ = 0;
};

}  // namespace

std::vector<StepRun> runs_of(const RecomputeProblem& problem, const Recomputed& recomputed) {
  return Simulator(problem).order(recomputed);
}

std::size_t peak_bytes(const RecomputeProblem& problem, const Recomputed& recomputed) {
  IdVector<StepId, std::size_t> at;
  return Simulator(problem).live(recomputed, at);
}

std::optional<Recomputed> choose_recomputed(const RecomputeProblem& problem, std::size_t target) {
  return Chooser(problem, target).run();
}

}  // namespace weft
