#include "weft/models/train/pretrained_folder.h"

#include "weft/models/hf/folder.h"

namespace weft {

PretrainedFolder read_pretrained_folder(const std::string& path) {
  const hf::Folder folder = hf::read_folder(path);
  Graph graph;
  const hf::Model model = hf::build_model(graph, folder.config, hf::least_inputs(folder.config));
  return {model.model_type, model.architecture, model.encoder_config, model.vit_config,
          weights_of(graph, *hf::load_weights(model, graph, folder))};
}

TensorMap weights_of(const Graph& graph, const VariableStore& store) {
  TensorMap weights;
  for (const Variable& variable : graph.variables()) {
    const VariableKind kind = variable.info().kind;
    if ((kind == VariableKind::parameter || kind == VariableKind::buffer) &&
        store.contains(variable.name()))
      weights[variable.name()] = store.tensor(variable.name());
  }
  return weights;
}

}  // namespace weft
