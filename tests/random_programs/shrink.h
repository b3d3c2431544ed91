// Reduces a failing program to a smaller one.
#pragma once

#include <functional>
#include <string>

#include "weft/tests/random_programs/case.h"
#include "weft/tests/random_programs/examine.h"

namespace weft::testing {

/// Returns a smaller case that fails `check` in the same way as `c`. It has fewer runs, outputs,
/// updates and nodes; results of nodes are replaced by inputs; sizes are constant and smaller; and
/// attributes have their default values. Stops when nothing can be reduced further, or after
/// `seconds`.
Case shrink(const Case& c, const std::string& check, double seconds = 60);

}  // namespace weft::testing
