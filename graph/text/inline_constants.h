// Constants that stand in the text where they are used: `mul(%x, 1.5)`.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// The dtype of numbers among the operands of a node: that of the first operand that is neither a
/// bool nor a scalar constant, none where there is no such operand. Undefined ones (absent
/// operands, and the numbers themselves) do not count.
std::optional<DType> literal_dtype(const std::vector<Value>& operands);

/// Those of `nodes` that are constants of the usual instance, are operands of others, and nothing
/// else: neither named nor among `kept`. All scalars, and short ones that are used once.
std::unordered_set<const Node*> inline_constants(const Graph& graph,
                                                 const std::vector<Node*>& nodes,
                                                 const std::vector<Value>& kept);

}  // namespace weft
