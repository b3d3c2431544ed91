// Extraction of programs into a separate graph, such as an inference program from a training graph.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// Copies the programs (all over one graph, before passes) into a new graph: their nodes, inputs,
/// variables and functions, the graph's requirements on sizes, and the named values that depend on
/// no other variable or input. Names, source locations and random streams are preserved, so results
/// with the same store are bit-exact:
///   const auto [graph, programs] = extract({predict});
///   Session session(*graph, store);
/// Saving a file does not require such a copy: save_checkpoint() saves only the parts that its
/// programs need, and extract_checkpoint() in checkpoint.h converts one file to another. Throws
/// GraphError if there is no program, or if the programs belong to several graphs. Time and memory
/// are linear in the size of the copy.
std::pair<std::shared_ptr<Graph>, std::vector<Program>> extract(
    const std::vector<Program>& programs);

/// Returns the values of the graph that the programs need: their outputs and updates, the variables
/// that they read or update, and the named values that depend on no other variable or input. If
/// `all_inputs` is true, the result also contains the graph's other inputs.
std::vector<Value> needed_values(const Graph& graph, const std::vector<Program>& programs,
                                 bool all_inputs);

}  // namespace weft
