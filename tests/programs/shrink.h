// Makes a failing program small.
#pragma once

#include <functional>
#include <string>

#include "weft/tests/programs/case.h"
#include "weft/tests/programs/examine.h"

namespace weft::testing {

/// A smaller case that fails `check` as `c` does: fewer runs, outputs, updates and nodes, results
/// of nodes fed instead of computed, fixed and smaller sizes, attributes as they are by default.
/// Ends when nothing can go, or after `seconds`.
Case shrink(const Case& c, const std::string& check, double seconds = 60);

}  // namespace weft::testing
