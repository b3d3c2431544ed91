#include "weft/autodiff/optimizers/state.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {

Variable StateScope::variable(Graph& graph, std::string_view name, const ValueType& type) const {
  const std::string full = fmt::format("{}.{}", scope, name);
  if (graph.has_variable(full)) {
    throw GraphError(
        fmt::format("{}: variable '{}' exists already; a second {} of one graph needs a scope of "
                    "its own: set {}, which is '{}'\n  {}",
                    function, full, what, option, scope, graph.describe_source(loc)));
  }
  return graph.variable(full, type, {.kind = VariableKind::optimizer, .trainable = false}, loc);
}

}  // namespace weft
