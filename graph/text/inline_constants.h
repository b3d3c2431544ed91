// Selection of constants that are printed inline at their use: `mul(%x, 1.5)`.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Returns the dtype of numbers among the operands of a node: the dtype of the first operand that
/// is neither bool nor a scalar constant, or nullopt if there is no such operand. Undefined Values
/// (absent operands, and the numbers themselves during parsing) are skipped.
std::optional<DType> literal_dtype(const std::vector<Value>& operands);

/// Returns the constants to be printed inline: constants with instance number 0 that are operands
/// of `nodes` and are neither named nor in `kept`. Scalars are always printed inline, other short
/// constants only if they are used once.
std::unordered_set<const Node*> inline_constants(const Graph& graph,
                                                 const std::vector<Node*>& nodes,
                                                 const std::vector<Value>& kept);

}  // namespace weft
