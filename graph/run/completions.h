// When outputs are there.
#pragma once

#include <cstddef>
#include <vector>

#include "weft/graph/plan/plan.h"

namespace weft {

/// Outputs of a plan, by the wave behind which they are complete while it runs: those that pass by
/// as soon as they are made, and those in their own memory behind all that writes there. The others
/// are not among them: they are copied at the end.
IdVector<WaveId, std::vector<std::size_t>> completions(const Plan& plan);

}  // namespace weft
