// Scan nodes: from a function, and back to their parts.
#pragma once

#include <vector>

#include "weft/graph/control/body.h"

namespace WEFT_API weft {

/// The parts of a scan node.
struct ScanNode {
  const Function* function = nullptr;  // takes carries, elements, operands; gives carries, outputs
  std::vector<Value> carries, sequences, operands;
  Dim length;
  bool reverse = false, recompute = false;
  std::int64_t stream = -1;  // first number of its draws; -1: numbers of its own, if it draws
};
ScanNode scan_node(const Node& node);

/// Applies function `function` of `graph` in a scan; what `parts` says of the function is not used.
Node& apply_scan(Graph& graph, const std::string& function, const ScanNode& parts,
                 SourceLocation loc);

/// The types of a scan's operands as its body sees them.
std::vector<ValueType> element_types(const ScanNode& parts);

/// A closed copy of a function of `from` that belongs to nobody yet, without inputs that nothing
/// reads. `inputs` says which of the given ones are left.
Function without_unused(const Function& from, const std::vector<bool>& may_go,
                        std::vector<bool>& kept);

}  // namespace weft
