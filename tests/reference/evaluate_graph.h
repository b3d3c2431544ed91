// The simplest way to run a graph: one op after the other. An oracle for planner and executor, and
// a way to test functions and gradient rules without them.
#pragma once

#include <unordered_map>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/graph/ir/graph.h"

namespace weft::testing {

/// What input and variable nodes (and any other values that need not be computed) stand for.
using Feed = std::unordered_map<Value, Tensor, ValueHash>;

/// The values' tensors. Sizes must be constant or follow from the feed; throws GraphError for an
/// input or variable that is not fed.
std::vector<Tensor> evaluate_graph(const std::vector<Value>& values, const Feed& feed);

}  // namespace weft::testing
