// Collective ops of compiled programs.
#pragma once

#include "weft/graph/plan/plan.h"

namespace weft {

/// Returns true if the program has collective ops. Throws StateError if they were built for a
/// different number of ranks.
bool check_collectives(const CompiledProgram& program, int ranks);

}  // namespace weft
