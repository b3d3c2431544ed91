// An independent check of plans: shares nothing with the code that makes them.
#pragma once

#include "weft/graph/plan/plan.h"

namespace WEFT_API weft {

/// Runs the plan on paper: follows which value lies in every byte of memory. Throws StateError that
/// names the step if
/// - a step is not wired as the program says (rematerialised steps included),
/// - a step or check reads memory that does not hold the value it wants,
/// - two steps of a wave touch the same memory and one writes, or a step writes over what it reads
///   in a way that its record does not allow,
/// - a check of data is missing, or a variable is written before it,
/// - a variable without an update changes, or an output or update ends up with another value,
/// - something lies outside the arena or is not aligned.
void verify(const Plan& plan);

}  // namespace weft
