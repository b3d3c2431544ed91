// Programs and functions of different graphs, compared by what they compute from the same
// variables.
#pragma once

#include <string>

#include "weft/graph/ir/graph.h"
#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// Empty if both compute the same from the same variables: outputs, updates, precision, and node by
/// node op, version, attributes (by bits), instance and type; of variables kind, whether trainable,
/// initialiser and aliases; functions by their bodies. Else the first difference, in words.
std::string difference(const Program& a, const Program& b);

/// The same of two functions, whatever their own names are.
std::string difference(const Function& a, const Function& b);

}  // namespace weft
