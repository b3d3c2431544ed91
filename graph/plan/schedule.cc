#include "weft/graph/plan/schedule.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

#include "weft/core/error.h"

namespace weft {
namespace {

using Index = std::size_t;

std::vector<int> reader_counts(const ScheduleProblem& p) {
  std::vector<int> readers(p.bytes.size(), 0);
  for (const auto& step : p.steps) {
    for (int b : step.reads) ++readers[static_cast<Index>(b)];
  }
  return readers;
}

class ListScheduler {
 public:
  ListScheduler(const ScheduleProblem& problem, bool by_bytes)
      : p_(problem),
        by_bytes_(by_bytes),
        readers_(reader_counts(problem)),
        reader_sum_(problem.bytes.size(), 0),
        missing_(problem.steps.size(), 0),
        score_(problem.steps.size(), 0),
        ready_(problem.steps.size(), 0) {
    build_successors();
  }

  std::vector<int> run() {
    const int steps = static_cast<int>(p_.steps.size());
    for (int s = 0; s < steps; ++s) {
      score_[static_cast<Index>(s)] = initial_score(s);
      if (missing_[static_cast<Index>(s)] == 0) make_ready(s);
    }
    std::vector<int> order;
    order.reserve(p_.steps.size());
    while (!queue_.empty()) {
      const auto [score, negative_id] = queue_.top();
      queue_.pop();
      const int s = -negative_id;
      // A step whose score has grown was queued again; the old entry is stale.
      if (ready_[static_cast<Index>(s)] != 1 || score != score_[static_cast<Index>(s)]) continue;
      ready_[static_cast<Index>(s)] = 2;
      order.push_back(s);
      finish(s);
    }
    if (order.size() != p_.steps.size()) {
      throw GraphError("the steps cannot be ordered: their dependences have a cycle");
    }
    return order;
  }

 private:
  using Score = std::int64_t;

  void build_successors() {
    std::vector<int> producer(p_.bytes.size(), -1);
    std::vector<int> count(p_.steps.size() + 1, 0);
    const auto for_edges = [&](auto&& fn) {
      for (Index s = 0; s < p_.steps.size(); ++s) {
        for (int b : p_.steps[s].reads) {
          const int from = producer[static_cast<Index>(b)];
          if (from >= 0) fn(from, static_cast<int>(s));
        }
      }
      for (const auto& [from, to] : p_.edges) fn(from, to);
    };
    for (Index s = 0; s < p_.steps.size(); ++s) {
      for (int b : p_.steps[s].writes) producer[static_cast<Index>(b)] = static_cast<int>(s);
      for (int b : p_.steps[s].reads) reader_sum_[static_cast<Index>(b)] += static_cast<int>(s);
    }
    for_edges([&](int from, int to) {
      ++count[static_cast<Index>(from) + 1];
      ++missing_[static_cast<Index>(to)];
    });
    std::partial_sum(count.begin(), count.end(), count.begin());
    first_ = count;
    successors_.resize(static_cast<Index>(count.back()));
    for_edges([&](int from, int to) {
      successors_[static_cast<Index>(count[static_cast<Index>(from)]++)] = to;
    });
  }

  Score freed(int buffer) const {
    const auto b = static_cast<Index>(buffer);
    return p_.kept[b] || !by_bytes_ ? 0 : static_cast<Score>(p_.bytes[b]);
  }

  Score initial_score(int s) const {
    Score score = 0;
    if (!by_bytes_) return score;
    for (int b : p_.steps[static_cast<Index>(s)].writes) {
      score -= static_cast<Score>(p_.bytes[static_cast<Index>(b)]);
    }
    for (int b : p_.steps[static_cast<Index>(s)].reads) {
      if (readers_[static_cast<Index>(b)] == 1) score += freed(b);
    }
    return score;
  }

  void make_ready(int s) {
    ready_[static_cast<Index>(s)] = 1;
    queue_.emplace(score_[static_cast<Index>(s)], -s);
  }

  void finish(int s) {
    for (int buffer : p_.steps[static_cast<Index>(s)].reads) {
      const auto b = static_cast<Index>(buffer);
      reader_sum_[b] -= s;
      if (--readers_[b] != 1) continue;
      // One reader is left, and the sum of the remaining numbers is its number.
      const int last = static_cast<int>(reader_sum_[b]);
      score_[static_cast<Index>(last)] += freed(buffer);
      if (ready_[static_cast<Index>(last)] == 1) make_ready(last);
    }
    for (int i = first_[static_cast<Index>(s)]; i < first_[static_cast<Index>(s) + 1]; ++i) {
      const int next = successors_[static_cast<Index>(i)];
      if (--missing_[static_cast<Index>(next)] == 0) make_ready(next);
    }
  }

  const ScheduleProblem& p_;
  const bool by_bytes_;  // false takes the smallest number that is ready
  std::vector<int> readers_;
  std::vector<std::int64_t> reader_sum_;
  std::vector<int> missing_;
  std::vector<Score> score_;
  std::vector<char> ready_;  // 0 waiting, 1 ready, 2 done
  std::vector<int> first_, successors_;
  std::priority_queue<std::pair<Score, int>> queue_;
};

}  // namespace

std::size_t peak_bytes(const ScheduleProblem& p, const std::vector<int>& order) {
  std::vector<int> readers = reader_counts(p);
  std::size_t live = 0, peak = 0;
  for (int s : order) {
    const ScheduleProblem::Step& step = p.steps[static_cast<Index>(s)];
    for (int b : step.writes) live += p.bytes[static_cast<Index>(b)];
    peak = std::max(peak, live);
    const auto free = [&](int b) {
      if (!p.kept[static_cast<Index>(b)]) live -= p.bytes[static_cast<Index>(b)];
    };
    for (int b : step.reads) {
      if (--readers[static_cast<Index>(b)] == 0) free(b);
    }
    for (int b : step.writes) {
      if (readers[static_cast<Index>(b)] == 0) free(b);
    }
  }
  return peak;
}

std::vector<int> schedule(const ScheduleProblem& problem) {
  std::vector<int> by_bytes = ListScheduler(problem, true).run();
  std::vector<int> given = ListScheduler(problem, false).run();
  return peak_bytes(problem, by_bytes) < peak_bytes(problem, given) ? by_bytes : given;
}

}  // namespace weft
