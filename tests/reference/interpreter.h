// Interpreter of graphs: evaluates one node after the other, including those in the bodies of
// calls, loops and branches.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/tests/reference/evaluate_graph.h"
#include "weft/tests/reference/scalar_ops.h"

namespace weft::testing {

/// An evaluation of a node that has no bodies and is not an input, a variable or a constant. Nodes
/// in loops are evaluated once per step.
struct NodeUse {
  const Node& node;
  /// Undefined if absent.
  const std::vector<Tensor>& inputs;
  /// Dims are evaluated, and random streams are numbered for this evaluation.
  const Attributes& attributes;
  /// The enclosing bodies, innermost first, one per line: "\n  in step 3 of scan, model.cc:12".
  std::string within;
};
/// Computes the outputs of a node.
using NodeRule = std::function<std::vector<Tensor>(const NodeUse& use)>;
/// Evaluates a node by its scalar model.
std::vector<Tensor> scalar_rule(const NodeUse& use);

/// The outputs of a node for operands `inputs` (undefined if absent), with the symbols of the graph
/// bound by `bindings` and random streams numbered from `first_stream`. A call is replaced by the
/// body of its function. Not for inputs and variables.
std::vector<NumberTensor> interpret_node(const Node& node, const std::vector<Tensor>& inputs,
                                         const Bindings& bindings,
                                         Precision precision = Precision::highest,
                                         std::int64_t first_stream = 0);

/// The tensors of `values`, as evaluate_graph() computes them with kernels.
std::vector<Tensor> interpret(const std::vector<Value>& values, const Feed& feed,
                              const Bindings& bindings, const NodeRule& rule = scalar_rule);

}  // namespace weft::testing
