// State that a layer keeps from one run to the next.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

/// Returns x and attaches an update of `variable` to the result. Every program that computes the
/// result, or a gradient through it, sets `variable` to `value` at the end of a run, as if by
/// Program::update(). Users therefore cannot forget to update the running statistics of a layer. An
/// explicit update in the program takes precedence. If a program would set a variable to two
/// different values, Program::updates() throws GraphError. The result is bit-identical to x and
/// adds no cost, and no gradient flows into `value`. Throws DTypeError or ShapeError if the value
/// does not have the variable's type, and GraphError for an undefined variable.
Value with_update(Arg x, Variable variable, Arg value);

}  // namespace weft
