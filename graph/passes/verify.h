// A structural check of graphs and programs.
#pragma once

#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// Checks what every Graph promises: operands come before their users and belong to the graph, ops
/// are of the graph's OpSet, shape rules give the types that the nodes have, symbols are known, no
/// two nodes are equal; bodies of functions likewise. Throws GraphError that names the node and its
/// place.
void verify_graph(const Graph& graph);

/// verify_graph of the program's graph; and outputs and updates belong to it, outputs have
/// different names, variables are updated once and with their own type.
void verify_program(const Program& program);

}  // namespace weft
