// Two programs, of different graphs, compared by what they are and not by what is printed of them.
#pragma once

#include <string>

#include "weft/graph/ir/program.h"

namespace weft::testing {

/// Empty if both compute the same from the same variables: outputs, updates, precision, and node by
/// node op, version, attributes (by bits), instance and type; of variables kind, whether trainable,
/// initialiser and aliases; functions by their bodies. Else the first difference, in words.
std::string difference(const Program& a, const Program& b);

}  // namespace weft::testing
