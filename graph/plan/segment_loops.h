// Segmented loops: results of a loop are recomputed segment by segment to fit a memory budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/graph/plan/plan.h"

namespace WEFT_API weft {

/// A loop, and a second loop in the opposite direction that is the only reader of some stacked
/// results of the first loop. The pair is typically a loop and its derivative. With segments, the
/// first loop drops these results and stores its carries at the beginning of every segment. Before
/// it processes a segment, the second loop runs the iterations of the first loop in this segment
/// again. Memory then grows with the square root of the number of iterations, at the cost of one
/// additional run of the first loop. (Griewank, "Achieving logarithmic growth of temporal and
/// spatial complexity in reverse automatic differentiation", 1992, with one level; Chen et al.,
/// 2016.)
struct LoopPair {
  StepId loop, consumer;     // the first and the second loop
  std::vector<int> dropped;  // outputs that the first loop drops
  std::int64_t segment = 0;  // iterations per segment, chosen for minimum memory
  std::size_t saved = 0;     // bytes saved between the two loops
};

/// Returns the pairs of loops in `plan` that need less memory with segments, largest savings first.
/// The steps of `plan` must be ordered.
std::vector<LoopPair> loops_to_segment(const Plan& plan);

/// Splits a pair into segments. Results are bit-exact, because the same bodies run on the same
/// data.
void segment_loop(Plan& plan, const LoopPair& pair);

}  // namespace weft
