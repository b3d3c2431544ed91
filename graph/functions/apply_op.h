// Application of an op by name, for functions that wrap custom ops.
#pragma once

#include <string_view>
#include <vector>

#include "weft/core/source_location.h"
#include "weft/graph/ir/value.h"
#include "weft/ops/attribute.h"

namespace WEFT_API weft {

/// Applies op `op` of the graph's op set to the operands and returns its first output. At least one
/// operand must be defined; undefined operands are optional operands that are left out.
///   Value swish(Value x, double beta, SourceLocation loc = SourceLocation::current()) {
///     return apply_op("swish", {x}, {{"beta", beta}}, loc);
///   }
/// Errors name the op, the operand types and the caller's source line. For ops with several
/// outputs, use Graph::apply, which returns the node.
Value apply_op(std::string_view op, const std::vector<Value>& operands, Attributes attributes = {},
               SourceLocation loc = SourceLocation::current());

}  // namespace weft
