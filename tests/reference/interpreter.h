// The interpreter of graphs: every node by itself, one after the other, also in the bodies of
// calls, loops and branches.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/tests/reference/evaluate_graph.h"
#include "weft/tests/reference/scalar_ops.h"

namespace weft::testing {

/// A node without bodies that is no leaf, where it is computed: in a loop once per step.
struct NodeUse {
  const Node& node;
  const std::vector<Tensor>& inputs;  // undefined where absent
  const Attributes& attributes;       // Dims evaluated, draws numbered as they are there
  /// What the node is in, innermost first, a line for each:
  /// "\n  in step 3 of scan, model.cc:12".
  std::string within;
};
/// Computes the outputs of a node.
using NodeRule = std::function<std::vector<Tensor>(const NodeUse& use)>;
/// By its scalar model.
std::vector<Tensor> scalar_rule(const NodeUse& use);

/// The outputs of a node for operands `inputs` (undefined where absent), with the graph's symbols
/// bound; draws are numbered from `first_stream` on. A call is its function's body. Not for inputs
/// and variables.
std::vector<NumberTensor> interpret_node(const Node& node, const std::vector<Tensor>& inputs,
                                         const Bindings& bindings,
                                         Precision precision = Precision::highest,
                                         std::int64_t first_stream = 0);

/// The values' tensors: what evaluate_graph gives with kernels.
std::vector<Tensor> interpret(const std::vector<Value>& values, const Feed& feed,
                              const Bindings& bindings, const NodeRule& rule = scalar_rule);

}  // namespace weft::testing
