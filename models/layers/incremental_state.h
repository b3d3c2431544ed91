// State of incremental programs, such as key/value caches, which a graph declares once.
#pragma once

#include <string_view>

#include "weft/graph/ir/scope.h"

namespace weft {

/// Throws GraphError if the graph already has variables below `state`. Called by functions that
/// build an incremental program, before they add anything to the graph.
void require_first_incremental(const Scope& state, std::string_view function, SourceLocation loc);

}  // namespace weft
