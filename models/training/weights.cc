#include "weft/models/training/weights.h"

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
  return load_parameters(store, graph, weights, source,
                         {.reinit = reinit, .allow_missing = {"*"}, .allow_unexpected = {"*"}},
                         "the model");
}

}  // namespace weft
