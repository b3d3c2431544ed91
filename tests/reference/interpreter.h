// The interpreter of graphs: every node by its scalar model, one after the other.
#pragma once

#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/tests/reference/evaluate_graph.h"
#include "weft/tests/reference/scalar_ops.h"

namespace weft::testing {

/// The outputs of a node for operands `inputs` (undefined where absent), with the graph's symbols
/// bound; draws are numbered from `first_stream` on. A call is its function's body. Not for inputs
/// and variables.
std::vector<NumberTensor> interpret_node(const Node& node, const std::vector<Tensor>& inputs,
                                         const Bindings& bindings,
                                         Precision precision = Precision::highest,
                                         std::int64_t first_stream = 0);

/// The values' tensors: what evaluate_graph gives with kernels.
std::vector<Tensor> interpret(const std::vector<Value>& values, const Feed& feed,
                              const Bindings& bindings, std::int64_t first_stream = 0);

}  // namespace weft::testing
