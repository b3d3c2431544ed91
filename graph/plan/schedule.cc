#include "weft/graph/plan/schedule.h"

#include <algorithm>
#include <numeric>
#include <queue>

#include "weft/core/error.h"

namespace weft {
namespace {

IdVector<ValueId, int> reader_counts(const ScheduleProblem& p) {
  IdVector<ValueId, int> readers(p.bytes.size());
  for (const auto& step : p.steps) {
    for (const ValueId b : step.reads) ++readers[b];
  }
  return readers;
}

class ListScheduler {
 public:
  ListScheduler(const ScheduleProblem& problem, bool by_bytes)
      : p_(problem),
        by_bytes_(by_bytes),
        readers_(reader_counts(problem)),
        reader_sum_(problem.bytes.size()),
        missing_(problem.steps.size()),
        score_(problem.steps.size()),
        ready_(problem.steps.size()) {
    build_successors();
  }

  std::vector<StepId> run() {
    for (const StepId s : p_.steps.ids()) {
      score_[s] = initial_score(s);
      if (missing_[s] == 0) make_ready(s);
    }
    std::vector<StepId> order;
    order.reserve(p_.steps.size());
    while (!queue_.empty()) {
      const auto [score, negative_number] = queue_.top();
      queue_.pop();
      const StepId s(-negative_number);
      // If the score of a step increases, the step is queued again and its old entry is stale.
      if (ready_[s] != 1 || score != score_[s]) continue;
      ready_[s] = 2;
      order.push_back(s);
      finish(s);
    }
    if (order.size() != p_.steps.size()) {
      throw GraphError("the steps cannot be ordered: their dependencies form a cycle");
    }
    return order;
  }

 private:
  using Score = std::int64_t;

  void build_successors() {
    IdVector<ValueId, StepId> producer(p_.bytes.size());
    first_.resize(p_.steps.size() + 1);
    const auto for_edges = [&](auto&& fn) {
      for (const StepId s : p_.steps.ids()) {
        for (const ValueId b : p_.steps[s].reads) {
          if (producer[b].defined()) fn(producer[b], s);
        }
      }
      for (const auto& [from, to] : p_.edges) fn(from, to);
    };
    for (const StepId s : p_.steps.ids()) {
      for (const ValueId b : p_.steps[s].writes) producer[b] = s;
      for (const ValueId b : p_.steps[s].reads) reader_sum_[b] += s.number();
    }
    for_edges([&](StepId from, StepId to) {
      ++first_[from + 1];
      ++missing_[to];
    });
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    IdVector<StepId, std::size_t> next = first_;
    successors_.resize(first_.back());
    for_edges([&](StepId from, StepId to) { successors_[next[from]++] = to; });
  }

  Score freed(ValueId b) const {
    return p_.live_out[b] || !by_bytes_ ? 0 : static_cast<Score>(p_.bytes[b]);
  }

  Score initial_score(StepId s) const {
    Score score = 0;
    if (!by_bytes_) return score;
    for (const ValueId b : p_.steps[s].writes) {
      // A streamed output with no reader is freed immediately.
      if (p_.live_out[b] || readers_[b] > 0) score -= static_cast<Score>(p_.bytes[b]);
    }
    for (const ValueId b : p_.steps[s].reads) {
      if (readers_[b] == 1) score += freed(b);
    }
    return score;
  }

  void make_ready(StepId s) {
    ready_[s] = 1;
    queue_.emplace(score_[s], -s.number());
  }

  void finish(StepId s) {
    for (const ValueId b : p_.steps[s].reads) {
      reader_sum_[b] -= s.number();
      if (--readers_[b] != 1) continue;
      // Only one reader remains, so the sum of the remaining step numbers is the number of this
      // reader.
      const StepId last(reader_sum_[b]);
      score_[last] += freed(b);
      if (ready_[last] == 1) make_ready(last);
    }
    for (std::size_t i = first_[s]; i < first_[s + 1]; ++i) {
      const StepId next = successors_[i];
      if (--missing_[next] == 0) make_ready(next);
    }
  }

  const ScheduleProblem& p_;
  const bool by_bytes_;             // if false, picks the ready step with the smallest number
  IdVector<ValueId, int> readers_;  // number of readers that have not run
  IdVector<ValueId, std::int64_t> reader_sum_;  // sum of the step numbers of these readers
  IdVector<StepId, int> missing_;               // number of edges from steps that have not run
  IdVector<StepId, Score> score_;
  IdVector<StepId, char> ready_;         // 0 waiting, 1 ready, 2 done
  IdVector<StepId, std::size_t> first_;  // index into successors_
  std::vector<StepId> successors_;
  std::priority_queue<std::pair<Score, int>> queue_;
};

}  // namespace

std::size_t peak_bytes(const ScheduleProblem& p, const std::vector<StepId>& order) {
  IdVector<ValueId, int> readers = reader_counts(p);
  std::size_t live = 0, peak = 0;
  for (const StepId s : order) {
    const ScheduleProblem::Step& step = p.steps[s];
    for (const ValueId b : step.writes) live += p.bytes[b];
    peak = std::max(peak, live);
    const auto free = [&](ValueId b) {
      if (!p.live_out[b]) live -= p.bytes[b];
    };
    for (const ValueId b : step.reads) {
      if (--readers[b] == 0) free(b);
    }
    for (const ValueId b : step.writes) {
      if (readers[b] == 0) free(b);
    }
  }
  return peak;
}

std::vector<StepId> schedule(const ScheduleProblem& problem) {
  std::vector<StepId> by_bytes = ListScheduler(problem, true).run();
  std::vector<StepId> given = ListScheduler(problem, false).run();
  return peak_bytes(problem, by_bytes) < peak_bytes(problem, given) ? by_bytes : given;
}

}  // namespace weft
