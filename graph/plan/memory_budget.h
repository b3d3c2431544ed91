// Planning within a memory budget.
#pragma once

#include <cstddef>
#include <memory>

#include "weft/graph/plan/plan.h"

namespace weft {

/// Lays out `plan` so that its arena has at most `budget` bytes. `plan` must be in the state that
/// lay_out expects. Tries the plan without changes first, then with rematerialised values
/// (recompute.h), and then also with loops in segments (segment_loops.h). Throws ArgumentError if
/// no such plan is found; the message names the smallest budget for which a plan was found.
std::shared_ptr<const Plan> meet_memory_budget(Plan plan, std::size_t budget);

}  // namespace weft
