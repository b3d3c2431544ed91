// Programs without what others need: of a training's graph, one that infers.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// A graph of its own with copies of the programs (all over one graph, before passes): their nodes,
/// inputs, variables, functions, what they require of sizes, and the named values that need no
/// other variable or input. Names, places and random streams stay, so that the same store gives the
/// same bits:
///   const auto [graph, programs] = extract({predict});
///   Session session(*graph, store);
/// Files need no such copy: save_checkpoint() saves what its programs need, and extract() of
/// checkpoint.h makes one file of another. Throws GraphError where there is no program, and for
/// programs of several graphs. Time and memory are linear in what is copied.
std::pair<std::shared_ptr<Graph>, std::vector<Program>> extract(
    const std::vector<Program>& programs);

/// What programs need of their graph: the values they give, the variables they read or update, and
/// the named values that can be had of these; with `all_inputs`, the graph's other inputs, too.
std::vector<Value> needed_values(const Graph& graph, const std::vector<Program>& programs,
                                 bool all_inputs);

}  // namespace weft
