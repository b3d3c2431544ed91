// Determines the wave after which each output is complete.
#pragma once

#include <cstddef>
#include <vector>

#include "weft/graph/plan/plan.h"

namespace weft {

/// Returns, for each wave of a plan, the indices of the outputs that are complete after this wave.
/// Streamed outputs are complete as soon as they are computed. Outputs that are written directly to
/// their own memory are complete after the last write to it. Other outputs are copied at the end of
/// the run and are not included.
IdVector<WaveId, std::vector<std::size_t>> completions(const Plan& plan);

}  // namespace weft
