// Profile: execution time per node.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/graph/plan/plan.h"

namespace WEFT_API weft {

/// Measured times of steps; a Trace shows them on a timeline instead. While a Session is profiling,
/// the steps of a wave run one after the other, so that each step is timed separately.
class Profile {
 public:
  /// Times of a node, or of all nodes with the same op.
  struct Entry {
    std::string name;   // op and name or scope of the node
    std::string where;  // source location of the node
    std::int64_t runs = 0;
    double seconds = 0;
    /// The time if every run of a step had taken as long as its fastest run. On a machine that also
    /// runs other programs, this is a better estimate of the cost than `seconds`.
    double least_seconds = 0;
    double flops = 0, bytes = 0;  // totals over all runs
    double flops_per_second() const { return seconds > 0 ? flops / seconds : 0; }
    double bytes_per_second() const { return seconds > 0 ? bytes / seconds : 0; }
  };
  /// Return one entry per node, or per op (summed over its nodes), in order of decreasing time.
  std::vector<Entry> entries() const;
  std::vector<Entry> op_entries() const;
  /// Returns two tables for the terminal, per op and per node, each with the `rows` entries that
  /// took longest.
  std::string table(std::size_t rows = 30) const;
  bool empty() const { return plans_.empty(); }
  /// Discards all times.
  void clear();

  /// Returns the time of a monotonic clock in seconds. The type is a plain number because <chrono>
  /// would account for a tenth of the compile time of this header, which every user of Session
  /// includes.
  static double now();
  /// Adds one run of one step, from `begin` to `end` as returned by now().
  void record(const std::shared_ptr<const Plan>& plan, StepId step, double begin, double end);

 private:
  struct StepTimes {
    std::int64_t runs = 0;
    double seconds = 0, least = 0;  // the sum and the minimum over the runs
  };
  struct PlanTimes {
    std::shared_ptr<const Plan> plan;
    IdVector<StepId, StepTimes> steps;
  };
  /// Returns the times of nodes if `nodes` is true, otherwise the times of ops.
  std::vector<Entry> collect(bool nodes) const;

  std::map<const Plan*, PlanTimes> plans_;
};

}  // namespace weft
