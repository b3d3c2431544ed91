#include "weft/autodiff/optimizers/optimizer_state.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {

std::string unused_scope(const Graph& graph, const std::string& given, std::string_view base,
                         std::string_view mark) {
  if (!given.empty()) return given;
  std::string scope(base);
  for (int i = 2; graph.has_variable(fmt::format("{}.{}", scope, mark)); ++i)
    scope = fmt::format("{}.{}", base, i);
  return scope;
}

Variable StateScope::variable(Graph& graph, std::string_view name, const ValueType& type) const {
  const std::string full = fmt::format("{}.{}", scope, name);
  if (graph.has_variable(full)) {
    throw GraphError(
        fmt::format("{}: variable '{}' already exists; every {} of a graph needs its own scope: "
                    "leave {} (now '{}') empty or set it to a different scope\n  {}",
                    function, full, what, option, scope, graph.describe_source(loc)));
  }
  return graph.variable(full, type, {.kind = VariableKind::optimizer, .trainable = false}, loc);
}

}  // namespace weft
