// Graph interpreter: evaluates one node after the other, including the nodes in the bodies of
// calls, loops and branches.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/tests/reference/evaluate_graph.h"
#include "weft/tests/reference/scalar_ops.h"

namespace weft::testing {

/// One evaluation of a node that has no bodies and is not an input, a variable or a constant. Nodes
/// in loops are evaluated once per step.
struct NodeUse {
  const Node& node;
  /// Tensors are undefined if the operand is absent.
  const std::vector<Tensor>& inputs;
  /// Dims have been evaluated, and random streams are numbered for this evaluation.
  const Attributes& attributes;
  /// The enclosing bodies, innermost first, one per line, for example "\n  in step 3 of scan,
  /// model.cc:12".
  std::string within;
};
/// Computes the outputs of a node.
using NodeRule = std::function<std::vector<Tensor>(const NodeUse& use)>;
/// Evaluates a node with its scalar model.
std::vector<Tensor> scalar_rule(const NodeUse& use);

/// Returns the outputs of a node for operands `inputs` (undefined if absent). The symbols of the
/// graph are bound by `bindings`, and random streams are numbered from `first_stream`. A call is
/// replaced by the body of its function. Does not support inputs and variables.
std::vector<NumberTensor> interpret_node(const Node& node, const std::vector<Tensor>& inputs,
                                         const Bindings& bindings,
                                         Precision precision = Precision::highest,
                                         std::int64_t first_stream = 0);

/// Returns the tensors of `values`. evaluate_graph() computes the same values with kernels.
std::vector<Tensor> interpret(const std::vector<Value>& values, const Feed& feed,
                              const Bindings& bindings, const NodeRule& rule = scalar_rule);

}  // namespace weft::testing
