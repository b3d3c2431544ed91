// Ops by name: for functions over ops of one's own.
#pragma once

#include <string_view>
#include <vector>

#include "weft/core/source_location.h"
#include "weft/graph/ir/value.h"
#include "weft/ops/attribute.h"

namespace WEFT_API weft {

/// The first output of op `op`, of the graph's own set, on these operands (at least one; undefined
/// ones are optional operands that are left out):
///   Value swish(Value x, double beta, SourceLocation loc = SourceLocation::current()) {
///     return apply_op("swish", {x}, {{"beta", beta}}, loc);
///   }
/// Errors name op, operand types and line. Of an op with several outputs Graph::apply gives the
/// node.
Value apply_op(std::string_view op, const std::vector<Value>& operands, Attributes attributes = {},
               SourceLocation loc = SourceLocation::current());

}  // namespace weft
