// Time per node.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/graph/plan/plan.h"

namespace WEFT_API weft {

/// Measured times of steps. While a Session profiles, the steps of a wave run one after the other,
/// so that each has a time of its own.
class Profile {
 public:
  /// Times of a node, or of all nodes of an op.
  struct Entry {
    std::string name;   // op, and the name or scope of the node
    std::string where;  // where the node was built
    std::int64_t runs = 0;
    double seconds = 0;
    double flops = 0, bytes = 0;  // of all runs
    double flops_per_second() const { return seconds > 0 ? flops / seconds : 0; }
    double bytes_per_second() const { return seconds > 0 ? bytes / seconds : 0; }
  };
  /// By time, the longest first: of nodes, and of all nodes of an op together.
  std::vector<Entry> entries() const;
  std::vector<Entry> op_entries() const;
  /// Two tables for the terminal: all ops, and the nodes that took longest.
  std::string table(std::size_t rows = 30) const;
  /// Trace events for ui.perfetto.dev or chrome://tracing.
  std::string trace_json() const;
  bool empty() const { return plans_.empty(); }
  /// Forgets all times.
  void clear();

  /// Seconds on a clock that only goes forward. (A number, because <chrono> is a tenth of what this
  /// header, which comes with every Session, costs to compile.)
  static double now();
  /// Adds one run of one step, from `begin` to `end` as now() gave them.
  void record(const std::shared_ptr<const Plan>& plan, StepId step, double begin, double end);

 private:
  struct StepTimes {
    std::int64_t runs = 0;
    double seconds = 0;
  };
  struct PlanTimes {
    std::shared_ptr<const Plan> plan;
    IdVector<StepId, StepTimes> steps;
  };
  struct Event {
    const Plan* plan;
    StepId step;
    double begin, seconds;
  };
  /// Times of nodes, or of ops.
  std::vector<Entry> collect(bool nodes) const;

  std::map<const Plan*, PlanTimes> plans_;
  std::vector<Event> events_;  // of the first steps only, so that memory is bounded
};

}  // namespace weft
