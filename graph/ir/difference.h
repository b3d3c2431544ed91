// Structural comparison of programs and functions that belong to different graphs.
#pragma once

#include <string>

#include "weft/graph/ir/graph.h"
#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// Returns a description of the first difference between two programs, or an empty string if they
/// compute the same results from the same variables. Compares names, outputs, updates, precision,
/// batch invariance and shards; for each node the op, version, attributes (bitwise), instance and
/// types; for each variable the name, type, kind, trainable flag, initialiser and aliases. The
/// bodies of functions are compared as well.
std::string difference(const Program& a, const Program& b);

/// As above, for two functions. The names of the two functions are not compared.
std::string difference(const Function& a, const Function& b);

}  // namespace weft
