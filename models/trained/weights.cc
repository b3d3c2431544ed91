#include "weft/models/trained/weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/core/error.h"

namespace weft {

TensorMap weights_of(const Graph& graph, const VariableStore& store) {
  TensorMap weights;
  for (const Variable& variable : weight_variables(graph)) {
    if (store.contains(variable.name())) weights[variable.name()] = store.tensor(variable.name());
  }
  return weights;
}

LoadReport load_weights(VariableStore& store, const Graph& graph, const TensorMap& weights,
                        std::string_view source, const std::vector<std::string>& reinit) {
  Match match = find_matches(weight_variables(graph), weights,
                             {.reinit = reinit, .allow_missing = true, .allow_unexpected = true});
  if (!match.problems.empty()) {
    throw FormatError(
        fmt::format("{} does not fit the model: {}", source, fmt::join(match.problems, "; ")));
  }
  if (match.pairs.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : weights) names.push_back(name);
    throw FormatError(fmt::format("{} has no parameter of this model; it holds {}", source,
                                  names.empty() ? "nothing" : first_of(names)));
  }
  for (const auto& [variable, tensor] : match.pairs)
    store.insert(variable.name(), variable.info().kind, tensor);
  store.start_anew(match.report.anew());
  return std::move(match.report);
}

}  // namespace weft
