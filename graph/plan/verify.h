// An independent verifier of plans, which shares no code with the planner.
#pragma once

#include "weft/graph/plan/plan.h"

namespace WEFT_API weft {

/// Simulates the plan and tracks which value every byte of memory holds. Throws StateError, naming
/// the step, if
/// - a step (rematerialised ones included) has other operands than in the program,
/// - a step or check reads memory that does not hold the expected value,
/// - two steps of a wave access the same memory and one of them writes, or a step overwrites its
///   operand although its op record does not allow it,
/// - a data check is missing, or a variable is written before a data check,
/// - a variable without an update changes, or an output or update ends with a wrong value,
/// - a buffer is outside the arena or not aligned.
void verify(const Plan& plan);

}  // namespace weft
