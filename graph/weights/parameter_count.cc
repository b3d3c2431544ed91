#include "weft/graph/weights/parameter_count.h"

#include <set>
#include <string>
#include <utility>

#include "weft/graph/weights/quantized_weights.h"

namespace weft {

namespace {

/// Counts the parameters with names that `counts` accepts.
template <class Counts>
std::int64_t count(const Graph& graph, const Counts& counts) {
  std::int64_t total = 0;
  std::set<std::string> quantized;
  for (const auto& [name, weight] : quantized_weights(graph)) {
    if (counts(name)) total += weight.inputs * weight.outputs;
    for (std::string& kept : stored_names(name, weight.format)) quantized.insert(std::move(kept));
  }
  for (const Variable& v : graph.variables()) {
    if (v.info().kind != VariableKind::parameter || quantized.contains(v.name())) continue;
    if (counts(v.name())) total += num_elements(v.info().type.shape.evaluate({}));
  }
  return total;
}

}  // namespace

std::int64_t count_parameters(const Graph& graph) {
  return count(graph, [](const std::string&) { return true; });
}

std::int64_t count_parameters(const Scope& scope) {
  const std::string& path = scope.path();
  return count(scope.graph(), [&](const std::string& name) {
    return path.empty() || name == path || name.starts_with(path + ".");
  });
}

}  // namespace weft
