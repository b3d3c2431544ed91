// Structural verification of graphs and programs.
#pragma once

#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// Checks the invariants of a Graph: operands come before their users and belong to the graph, ops
/// are in the graph's OpSet, node types agree with the shape rules, symbols are known, and no two
/// nodes are equal. Also checks the bodies of functions. Throws a GraphError that names the node
/// and its location.
void verify_graph(const Graph& graph);

/// Calls verify_graph for the program's graph. Also checks that outputs and updates belong to it,
/// that output names are unique, and that each variable is updated at most once and with its own
/// type.
void verify_program(const Program& program);

}  // namespace weft
