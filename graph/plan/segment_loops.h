// Loops whose results are made a second time, segment by segment, to fit a memory budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/graph/plan/plan.h"

namespace WEFT_API weft {

/// A loop, and the one over it that goes the other way and alone reads stacked results of the
/// first: a loop and its derivative. With segments the first drops these results and keeps its
/// carries at the beginning of every segment; the second runs the steps of a segment again just
/// before it goes over them. Memory then grows with the square root of the number of steps, for one
/// more run of the first loop. (Griewank, "Achieving logarithmic growth of temporal and spatial
/// complexity in reverse automatic differentiation", 1992, with one level; Chen et al., 2016.)
struct LoopPair {
  StepId loop, over;
  std::vector<int> dropped;  // outputs of the loop
  std::int64_t segment = 0;  // steps: the number that needs least memory
  std::size_t saved = 0;     // bytes while both are live
};

/// The pairs of `plan` (steps in order) that segments would make smaller, most saved first.
std::vector<LoopPair> loops_to_segment(const Plan& plan);

/// Lets a pair run in segments. Results have the same bits: the same bodies run on the same data.
void segment_loop(Plan& plan, const LoopPair& pair);

}  // namespace weft
