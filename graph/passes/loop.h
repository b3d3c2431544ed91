// A loop taken apart for rewriting: its body as a function of its own, its operands in the new
// graph, and what the results of the old node become.
#pragma once

#include <memory>
#include <vector>

#include "weft/graph/control/scan_node.h"

namespace weft {

struct Loop {
  /// Of `node`, whose operands are `inputs` in `target`.
  Loop(const Node& node, const std::vector<Value>& inputs, Graph& target);

  const Node& node;
  Graph& target;
  Function body;
  ScanNode parts;
  /// By result of the old node: what stands for it already, or else the result of the new node that
  /// does.
  std::vector<Value> done;
  std::vector<int> result;
  bool changed = false;
  /// Graphs of earlier bodies: places of nodes are copied from them by address.
  std::vector<std::unique_ptr<Graph>> kept;

  std::size_t carries() const { return parts.carries.size(); }
  std::size_t first_operand() const { return carries() + parts.sequences.size(); }
  /// Takes over a body in which these values of the old one are inputs now, after its sequences and
  /// its operands.
  void rebuild(const std::vector<Value>& elements, const std::vector<Value>& operands,
               const std::vector<Value>& outputs);
  /// The old node's results, from a new node.
  std::vector<Value> finish();
};

/// Moves what does not depend on carries out of the loop: what comes from operands alone, and
/// products of sequences with operands (with the elementwise steps around them), which are one
/// product over all steps then.
void hoist(Loop& loop);
/// Carries that only add up products or sums of values of a step become one product or sum over
/// all steps, behind the loop; and products of the values that go out for that with operands leave
/// the loop, too.
void sink(Loop& loop);

}  // namespace weft
