// A loop in a form for rewriting: the body as a separate function, the operands in the new graph,
// and the replacements for the results of the old node.
#pragma once

#include <memory>
#include <vector>

#include "weft/graph/control/scan_node.h"

namespace weft {

/// A scan that is being rewritten.
struct Loop {
  /// Decomposes the scan `node`. `inputs` are the operands of the new node in `target`.
  Loop(const Node& node, const std::vector<Value>& inputs, Graph& target);

  const Node& node;
  Graph& target;
  Function body;
  ScanNode parts;
  /// Indexed by result of the old node: the replacement, or, if it is undefined, the index of the
  /// new node's result that replaces the old result.
  std::vector<Value> done;
  std::vector<int> result;
  bool changed = false;
  /// Graphs of earlier bodies, kept alive because source locations are copied from their nodes.
  std::vector<std::unique_ptr<Graph>> kept;

  std::size_t carries() const { return parts.carries.size(); }
  std::size_t first_operand() const { return carries() + parts.sequences.size(); }
  /// Replaces the body with a body that computes `outputs` and has `elements` and `operands`,
  /// values of the old body, as additional inputs (after the sequences and after the operands,
  /// respectively).
  void rebuild(const std::vector<Value>& elements, const std::vector<Value>& operands,
               const std::vector<Value>& outputs);
  /// Builds the new node. Returns the replacements for the old node's results.
  std::vector<Value> finish();
};

/// Moves computations that do not depend on carries out of the loop: computations that depend on
/// operands only, and products of sequences with operands (with the elementwise steps around them).
/// Each of these products becomes one product over all iterations.
void hoist(Loop& loop);
/// Replaces carries that only accumulate products or sums of an iteration's values with one product
/// or sum over all iterations after the loop. Products of operands with the values that the loop
/// outputs for this purpose are also moved out of it.
void sink(Loop& loop);

}  // namespace weft
