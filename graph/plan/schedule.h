// Order of steps: least peak memory first, then waves of small independent steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft {

/// What scheduling needs to know. Steps and buffers are numbers; a buffer has one step that makes
/// it.
struct ScheduleProblem {
  struct Step {
    std::vector<int> reads;   // buffers, each once
    std::vector<int> writes;  // buffers
  };
  std::vector<Step> steps;                 // in a legal order
  std::vector<std::size_t> bytes;          // per buffer
  std::vector<char> kept;                  // per buffer: lives to the end
  std::vector<std::pair<int, int>> edges;  // further (before, after) pairs of steps
};

/// Most bytes of buffers that live at the same time when steps run one by one in this order.
std::size_t peak_bytes(const ScheduleProblem& problem, const std::vector<int>& order);

/// A legal order with a small peak: list scheduling that takes, of the ready steps, the one that
/// frees most and allocates least (then the smallest number); or the given order (as far as the
/// edges allow it) where that has no larger peak. Throws GraphError if the edges have a cycle.
std::vector<int> schedule(const ScheduleProblem& problem);

}  // namespace weft
