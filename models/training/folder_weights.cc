#include "weft/models/training/folder_weights.h"

#include <set>
#include <string>
#include <vector>

#include "weft/graph/weights/matrices.h"
#include "weft/graph/weights/quantized_weights.h"

namespace weft {

void load_folder_weights(TrainedModel& model, const hf::Model& built, const hf::Folder& folder) {
  const std::vector<Program> programs = model.all_programs();
  std::set<std::string> matrices;
  if (!folder.widen) {
    const WeightMatrixOptions options{.embeddings = true, .stacks = true};
    for (const WeightMatrix& m : weight_matrices(*model.graph, programs, options)) {
      if (m.out_in || m.stack() > 0) matrices.insert(m.name);
    }
  }
  auto store = std::make_shared<VariableStore>();
  QuantizedWeights narrow;
  for (auto& [variable, tensor] :
       hf::match_weights(built, *model.graph, folder.weights, folder.path, std::move(matrices))) {
    if (tensor.dtype() != variable.dtype()) {
      // A stack is stored like the parameter, whichever of its axes holds the inputs.
      const bool stack = tensor.rank() == 3;
      narrow[variable.name()] = {WeightFormat::bf16, tensor.size(-1), tensor.size(-2), true,
                                 stack ? tensor.size(0) : 0};
    }
    store->insert(variable.name(), variable.info().kind, std::move(tensor));
  }
  hf::check_weights(*store, folder);
  if (!narrow.empty()) {
    const RewrittenPrograms rewritten = with_quantized(programs, narrow);
    model.replace_programs(rewritten.graph, rewritten.programs);
  }
  model.store = std::move(store);
}

}  // namespace weft
