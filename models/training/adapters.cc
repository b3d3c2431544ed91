#include "weft/models/training/adapters.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "weft/core/error.h"
#include "weft/graph/weights/matrices.h"
#include "weft/models/training/lora_file.h"
#include "weft/models/training/model.h"
#include "weft/models/training/pretrained.h"

namespace weft {

const FieldList<LoraOptions>& lora_fields() {
  static const auto list =
      FieldList<LoraOptions>("the adapter options")
          .add("rank", &LoraOptions::rank, "adapter rank")
          .add("alpha", &LoraOptions::alpha,
               "scale factor: the adapter output is multiplied by alpha / rank")
          .add("dropout", &LoraOptions::dropout, "dropout rate on the adapter inputs");
  return list;
}

void add_adapters(TrainedModel& model, const LoraOptions& options,
                  const std::vector<std::string>& fresh) {
  AdaptedModel adapted = add_lora(model.all_programs(), *model.store, options);
  model.replace_programs(adapted.graph, adapted.programs);
  model.store = adapted.store;
  model.lora = options;
  model.store->allow_initialisation(fresh);
  for (const Variable& variable : model.graph->variables()) {
    if (variable.info().kind == VariableKind::parameter &&
        std::find(fresh.begin(), fresh.end(), variable.name()) != fresh.end())
      model.graph->set_trainable(variable, true);
  }
}

std::vector<std::string> quantized_patterns(const TrainedModel& model,
                                            const std::vector<std::string>& patterns) {
  if (!model.lora) return patterns;
  std::vector<WeightMatrix> matrices =
      weight_matrices(*model.graph, model.all_programs(), {.embeddings = true});
  std::erase_if(matrices, [](const WeightMatrix& matrix) {
    return matrix.name.ends_with(".lora_a") || matrix.name.ends_with(".lora_b");
  });
  std::vector<std::string> names;
  for (const WeightMatrix& matrix :
       select_matrices(matrices, patterns, "matrix that can be converted"))
    names.push_back(matrix.name);
  return names;
}

void keep_quantized(TrainedModel& model, const Pretrained& from,
                    const std::vector<std::string>& reinit) {
  QuantizedWeights kept;
  for (const auto& [name, weight] : from.quantized) {
    if (!model.graph->has_variable(name)) continue;
    const std::string& own = model.graph->find_variable(name).name();  // `name` may be an alias
    if (!matches_any(reinit, own)) kept.emplace(own, weight);
  }
  if (kept.empty()) return;
  try {
    RewrittenPrograms rewritten = with_quantized(model.all_programs(), kept, from.narrow_caches);
    model.replace_programs(rewritten.graph, rewritten.programs);
  } catch (const ArgumentError& e) {
    throw ArgumentError(fmt::format("{} does not fit the model: {}", from.source, e.what()));
  }
}

LoraAdapters lora_adapters(const TrainedModel& model) {
  if (!model.lora) throw ArgumentError("the model has no adapters");
  constexpr std::string_view kEnd = ".lora_a";
  std::vector<std::string> matrices;
  for (const Variable& parameter : model.graph->parameters()) {
    const std::string& name = parameter.name();
    if (name.ends_with(kEnd)) matrices.push_back(name.substr(0, name.size() - kEnd.size()));
  }
  LoraAdapters adapters = lora_adapters(matrices, *model.store, *model.lora);
  for (const auto& [name, weight] : quantized_weights(*model.graph)) {
    if (adapters.adapters.contains(name)) adapters.quantized[name] = weight.format;
  }
  adapters.base = adapters_base(adapters, *model.store);
  return adapters;
}

}  // namespace weft
