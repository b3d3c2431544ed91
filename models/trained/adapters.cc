#include "weft/models/trained/adapters.h"

#include <algorithm>
#include <string_view>

#include "weft/core/error.h"
#include "weft/models/trained/lora_file.h"
#include "weft/models/trained/model.h"

namespace weft {

const FieldList<LoraOptions>& lora_fields() {
  static const auto list =
      FieldList<LoraOptions>("the adapters' options")
          .add("rank", &LoraOptions::rank, "of the adapters")
          .add("alpha", &LoraOptions::alpha, "what adapters give is scaled by alpha / rank")
          .add("dropout", &LoraOptions::dropout, "dropout of the adapters' inputs");
  return list;
}

void add_adapters(TrainedModel& model, const LoraOptions& options,
                  const std::vector<std::string>& fresh) {
  std::vector<Program> programs;
  for (const auto& [name, program] : model.programs) programs.push_back(program);
  AdaptedModel adapted = add_lora(programs, *model.store, options);
  std::size_t next = 0;
  for (auto& [name, program] : model.programs) program = adapted.programs[next++];
  model.graph = adapted.graph;
  model.store = adapted.store;
  model.lora = options;
  model.store->start_anew(fresh);
  for (const Variable& variable : model.graph->variables()) {
    if (variable.info().kind == VariableKind::parameter &&
        std::find(fresh.begin(), fresh.end(), variable.name()) != fresh.end())
      model.graph->set_trainable(variable, true);
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
  adapters.base = adapters_base(adapters, *model.store);
  return adapters;
}

}  // namespace weft
