// Order of steps: least peak memory first, then waves of small independent steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/graph/plan/ids.h"

namespace weft {

/// What scheduling needs to know. At most one step makes a value.
struct ScheduleProblem {
  struct Step {
    std::vector<ValueId> reads;  // each once
    std::vector<ValueId> writes;
  };
  IdVector<StepId, Step> steps;  // in a legal order
  IdVector<ValueId, std::size_t> bytes;
  IdVector<ValueId, char> live_out;              // lives to the end
  std::vector<std::pair<StepId, StepId>> edges;  // further (before, after) pairs
};

/// Most bytes of values that live at the same time when steps run one by one in this order.
std::size_t peak_bytes(const ScheduleProblem& problem, const std::vector<StepId>& order);

/// A legal order with a small peak: list scheduling that takes, of the ready steps, the one that
/// frees most and allocates least (then the smallest number); or the given order (as far as the
/// edges allow it) where that has no larger peak. Throws GraphError if the edges have a cycle.
std::vector<StepId> schedule(const ScheduleProblem& problem);

}  // namespace weft
