// Meeting a memory budget.
#pragma once

#include <cstddef>
#include <memory>

#include "weft/graph/plan/plan.h"

namespace weft {

/// Lays out `plan` (as lay_out takes it) so that its arena has at most `budget` bytes: as it is if
/// that is enough, else with rematerialised values (recompute.h), and then with loops in segments
/// (segment_loops.h). Throws ArgumentError if no
/// such plan is found; it says the smallest budget for which one is.
std::shared_ptr<const Plan> meet_memory_budget(Plan plan, std::size_t budget);

}  // namespace weft
