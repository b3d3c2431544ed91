// Scheduling: an order of steps with a small memory peak.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/graph/plan/ids.h"

namespace weft {

/// Input of schedule(). At most one step produces each value.
struct ScheduleProblem {
  struct Step {
    std::vector<ValueId> reads;  // without duplicates
    std::vector<ValueId> writes;
  };
  IdVector<StepId, Step> steps;  // in a legal order
  IdVector<ValueId, std::size_t> bytes;
  IdVector<ValueId, char> live_out;              // true if the value is live until the end
  std::vector<std::pair<StepId, StepId>> edges;  // additional (before, after) pairs
};

/// Returns the largest number of bytes that are live at the same time if the steps run one at a
/// time in this order.
std::size_t peak_bytes(const ScheduleProblem& problem, const std::vector<StepId>& order);

/// Returns a legal order with a small peak. List scheduling repeatedly picks the ready step with
/// the largest difference between freed and allocated bytes (on ties, the step with the smallest
/// number). If the given order, adapted to the edges, has a peak that is no larger, it is returned
/// instead. Throws GraphError if the edges form a cycle.
std::vector<StepId> schedule(const ScheduleProblem& problem);

}  // namespace weft
