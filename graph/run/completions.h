// The wave after which each output is complete.
#pragma once

#include <cstddef>
#include <vector>

#include "weft/graph/plan/plan.h"

namespace weft {

/// Returns the numbers of a plan's outputs, by the wave after which they are complete while the
/// plan runs: streamed outputs as soon as they are made, outputs made in their own memory after the
/// last write to it. Other outputs are copied at the end of the run and are not included.
IdVector<WaveId, std::vector<std::size_t>> completions(const Plan& plan);

}  // namespace weft
