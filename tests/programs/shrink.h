// Reduces a failing program to a small one.
#pragma once

#include <functional>
#include <string>

#include "weft/tests/programs/case.h"
#include "weft/tests/programs/examine.h"

namespace weft::testing {

/// Returns a smaller case that fails `check` like `c` does: with fewer runs, outputs, updates and
/// nodes, results of nodes replaced by inputs, constant and smaller sizes, and default attributes.
/// Stops when nothing can be reduced further, or after `seconds`.
Case shrink(const Case& c, const std::string& check, double seconds = 60);

}  // namespace weft::testing
