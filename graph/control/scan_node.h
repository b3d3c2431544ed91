// Conversion between scan nodes and their parts.
#pragma once

#include <vector>

#include "weft/graph/control/body.h"

namespace WEFT_API weft {

/// The parts of a scan node.
struct ScanNode {
  /// The body. Its inputs are the carries, elements and operands, and its outputs are the new
  /// carries and the outputs of the step.
  const Function* function = nullptr;
  std::vector<Value> carries, sequences, operands;
  Dim length;
  bool reverse = false, recompute = false;
  /// First stream number of the body's random draws. -1 reserves new stream numbers if the body
  /// draws random numbers.
  std::int64_t stream = -1;
};
/// Returns the parts of a node of op "scan".
ScanNode scan_node(const Node& node);

/// Adds a scan node that runs the function `function` of `graph`. `parts.function` is ignored.
Node& apply_scan(Graph& graph, const std::string& function, const ScanNode& parts,
                 SourceLocation loc);

/// Returns the input types of the body: carries, elements of the sequences, and operands.
std::vector<ValueType> element_types(const ScanNode& parts);

/// Returns a copy of the function `from`, not yet added to a graph, without the unused inputs that
/// are marked in `removable`. Sets kept[i] to true if input i remains, else to false.
Function without_unused_inputs(const Function& from, const std::vector<bool>& removable,
                               std::vector<bool>& kept);

}  // namespace weft
