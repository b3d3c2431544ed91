#include "weft/graph/functions/apply_op.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/ir/graph.h"

namespace weft {

Value apply_op(std::string_view op, const std::vector<Value>& operands, Attributes attributes,
               SourceLocation loc) {
  for (const Value& v : operands) {
    if (v.defined()) return v.graph().apply(op, operands, std::move(attributes), loc).output(0);
  }
  throw GraphError(
      fmt::format("{}: apply_op() uses the graph of its operands, but no operand is defined; use "
                  "Graph::apply\n  at {}",
                  op, loc.str()));
}

}  // namespace weft
