#include "weft/serialization/load_parameters.h"

#include <fmt/format.h>

#include "weft/core/closest.h"
#include "weft/core/error.h"

namespace weft {

LoadReport load_parameters(VariableStore& store, const Graph& graph, const TensorMap& tensors,
                           std::string_view source, const MatchOptions& options,
                           std::string_view wanted) {
  Match match = match_variables(weight_variables(graph), tensors, source, options, wanted);
  if (match.pairs.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : tensors) names.push_back(name);
    throw FormatError(fmt::format("{} has no tensor for {}; it contains {}", source, wanted,
                                  names.empty() ? "nothing" : list_names(names, 8)));
  }
  std::vector<VariableStore::NewValue> values;
  for (auto& [variable, tensor] : match.pairs)
    values.push_back({variable.name(), variable.info().kind, std::move(tensor)});
  store.assign(std::move(values));
  store.allow_initialisation(match.report.newly_initialised());
  return std::move(match.report);
}

LoadReport load_parameters(VariableStore& store, const Graph& graph, const std::string& path,
                           const MatchOptions& options) {
  return load_parameters(store, graph, read_tensors(path), path, options);
}

LoadReport load_parameters(Session& session, const std::string& path, const MatchOptions& options) {
  return load_parameters(*session.store(), session.graph(), path, options);
}

}  // namespace weft
