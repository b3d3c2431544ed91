#include "weft/graph/weights/parameter_count.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "weft/graph/passes/match.h"
#include "weft/graph/weights/quantized_weights.h"

namespace weft {

namespace {

/// Counts the parameters with names that `counts` accepts.
template <class Counts>
std::int64_t count(const Graph& graph, const Counts& counts) {
  std::int64_t total = 0;
  std::set<std::string> quantized;
  for (const auto& [name, weight] : quantized_weights(graph)) {
    if (counts(name)) total += num_elements(weight.shape().evaluate({}));
    for (std::string& kept : stored_names(name, weight.format)) quantized.insert(std::move(kept));
  }
  for (const Variable& v : graph.variables()) {
    if (v.info().kind != VariableKind::parameter || quantized.contains(v.name())) continue;
    if (counts(v.name())) total += num_elements(v.info().type.shape.evaluate({}));
  }
  return total;
}

/// Returns the variable of which `value` is a copy in another type or shape, or an undefined value.
Value stored_variable(Value value) {
  const auto copies = [](const Value& v) {
    return is(v, "cast") || is(v, "permute") || is(v, "reshape") || is(v, "dequantize");
  };
  while (copies(value)) value = value.node().input(0);
  return is(value, "variable") ? value : Value();
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

std::int64_t count_active_parameters(const Program& program, const Dim& tokens) {
  return count_active_parameters(program, std::vector<Dim>{tokens});
}

std::int64_t count_active_parameters(const Program& program, const std::vector<Dim>& tokens) {
  if (program.graph() == nullptr) return 0;
  std::int64_t total = count_parameters(*program.graph());
  std::set<std::string> counted;
  for (const Node* node : program.nodes()) {
    if (!is(*node, "grouped_matmul")) continue;
    const Value stack = node->input(1), variable = stored_variable(stack);
    if (!variable.defined()) continue;
    const std::int64_t matrices = stack.shape()[0].constant();
    std::int64_t chosen = matrices;  // per token
    for (const Dim& count : tokens) {
      const std::optional<Dim> rows = Dim::try_exact_div(node->input(0).shape()[0], count);
      if (rows && rows->is_constant()) chosen = std::min(chosen, rows->constant());
    }
    const std::int64_t idle = matrices - chosen;
    if (matrices == 0 || !counted.insert(Variable(variable).name()).second) continue;
    total -= idle * (num_elements(stack.shape().evaluate({})) / matrices);
  }
  return total;
}

}  // namespace weft
