// An independent verifier of plans, which shares no code with the planner.
#pragma once

#include "weft/graph/plan/plan.h"

namespace WEFT_API weft {

/// Simulates the plan and tracks which value is stored in every byte of memory. Throws a StateError
/// that names the step if
/// - a step (including rematerialised steps) has different operands than in the program,
/// - a step or check reads memory that does not hold the expected value,
/// - two steps of a wave access the same memory and one of them writes, or a step overwrites its
///   operand although its op record does not allow it,
/// - a data check is missing, or a variable is written before a data check,
/// - a variable without an update changes, or an output or update has the wrong value at the end,
/// - a buffer is outside the arena or not aligned.
void verify(const Plan& plan);

}  // namespace weft
