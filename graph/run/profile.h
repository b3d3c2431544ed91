// Profile: execution time per node.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/graph/plan/plan.h"

namespace WEFT_API weft {

/// Measured times of steps. While a Session is profiling, the steps of a wave run one after the
/// other, so that each one is timed separately.
class Profile {
 public:
  /// Times of a node, or of all nodes of an op.
  struct Entry {
    std::string name;   // op, and the name or scope of the node
    std::string where;  // where the node was built
    std::int64_t runs = 0;
    double seconds = 0;
    double flops = 0, bytes = 0;  // totals over all runs
    double flops_per_second() const { return seconds > 0 ? flops / seconds : 0; }
    double bytes_per_second() const { return seconds > 0 ? bytes / seconds : 0; }
  };
  /// Entries per node, and per op (summed over its nodes), sorted by decreasing time.
  std::vector<Entry> entries() const;
  std::vector<Entry> op_entries() const;
  /// Two tables for the terminal, per op and per node, each with the `rows` entries that took
  /// longest.
  std::string table(std::size_t rows = 30) const;
  /// Trace events as JSON, for ui.perfetto.dev or chrome://tracing.
  std::string trace_json() const;
  bool empty() const { return plans_.empty(); }
  /// Discards all times.
  void clear();

  /// Seconds on a monotonic clock. The type is a plain number because <chrono> would account for a
  /// tenth of the compile time of this header, which every user of Session includes.
  static double now();
  /// Adds one run of one step, from `begin` to `end` as returned by now().
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
  /// Returns the times of nodes if `nodes` is true, else those of ops.
  std::vector<Entry> collect(bool nodes) const;

  std::map<const Plan*, PlanTimes> plans_;
  std::vector<Event> events_;  // of the first steps only, to bound memory
};

}  // namespace weft
