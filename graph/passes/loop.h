// A loop in a form for rewriting: its body as a separate function, its operands in the new graph,
// and the replacements of the old node's results.
#pragma once

#include <memory>
#include <vector>

#include "weft/graph/control/scan_node.h"

namespace weft {

/// A scan that is being rewritten.
struct Loop {
  /// Takes apart the scan `node`, whose operands are `inputs` in `target`.
  Loop(const Node& node, const std::vector<Value>& inputs, Graph& target);

  const Node& node;
  Graph& target;
  Function body;
  ScanNode parts;
  /// By result of the old node: its replacement, or if that is undefined, the number of the new
  /// node's result that replaces it.
  std::vector<Value> done;
  std::vector<int> result;
  bool changed = false;
  /// Graphs of earlier bodies, kept alive because source locations are copied from their nodes.
  std::vector<std::unique_ptr<Graph>> kept;

  std::size_t carries() const { return parts.carries.size(); }
  std::size_t first_operand() const { return carries() + parts.sequences.size(); }
  /// Replaces the body by one in which `elements` and `operands`, values of the old body, are
  /// inputs (after its sequences and after its operands, respectively) and which computes
  /// `outputs`.
  void rebuild(const std::vector<Value>& elements, const std::vector<Value>& operands,
               const std::vector<Value>& outputs);
  /// Builds the new node. Returns the replacements of the old node's results.
  std::vector<Value> finish();
};

/// Moves computations that do not depend on carries out of the loop: those that depend on operands
/// only, and products of sequences with operands (with the elementwise steps around them), which
/// become one product over all iterations.
void hoist(Loop& loop);
/// Replaces carries that only accumulate products or sums of an iteration's values by one product
/// or sum over all iterations after the loop. Products of operands with the values that leave the
/// loop for this purpose are also moved out of the loop.
void sink(Loop& loop);

}  // namespace weft
