// The simplest way to run a graph: one op after the other. Serves as a reference for the planner
// and the executor, and tests functions and gradient rules without them.
#pragma once

#include <unordered_map>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/graph/ir/graph.h"

namespace weft::testing {

/// Tensors for inputs, variables and any other values that need not be computed.
using Feed = std::unordered_map<Value, Tensor, ValueHash>;

/// Returns the tensors of `values`. Their sizes must be constant or determined by the feed. Throws
/// GraphError if an input or variable is not in the feed.
std::vector<Tensor> evaluate_graph(const std::vector<Value>& values, const Feed& feed);

}  // namespace weft::testing
