// State that layers carry from run to run.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

/// x, and a new value of a variable that goes with it: every program that computes the result, or a
/// gradient through it, updates `variable` to `value` at its end, as if by Program::update(). So
/// the running statistics of a layer cannot be forgotten. An update that the program is given
/// counts instead; two values for one variable in one program are a GraphError of
/// Program::updates(). The bits are those of x, it costs nothing, and no gradient flows into
/// `value`. Throws DTypeError or ShapeError where the value is not of the variable's type,
/// GraphError for an undefined variable.
Value with_update(Arg x, Variable variable, Arg value);

}  // namespace weft
