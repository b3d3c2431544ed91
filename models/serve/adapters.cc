#include "weft/models/serve/adapters.h"

#include <fmt/format.h>

#include <set>

#include "weft/core/error.h"
#include "weft/graph/weights/lora_stack.h"
#include "weft/models/families/gpt.h"
#include "weft/models/tasks/adapted_models.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/training/adapters.h"

namespace weft {
namespace {

LoraAdapters read_stackable(const std::string& path, const LanguageModel& model) {
  const Task* task = find_task(model.task);
  if (task == nullptr) throw ArgumentError("the model is of a version that recorded no task");
  TrainedAdapters read = read_adapters(path, model, *task);
  if (!read.parameters.empty()) {
    throw ArgumentError(fmt::format(
        "{} replaces the whole parameter {}, which all texts of a batch share: merge it into the "
        "weights and serve the result as another model (weft merge)",
        path, read.parameters.begin()->first));
  }
  return std::move(read.values);
}

}  // namespace

SlotsModel slots_model(const LanguageModel& model,
                       const std::vector<std::pair<std::string, std::string>>& adapters) {
  LanguageModel slots;
  const Value tokens = slots.graph->input("tokens", DType::i64, {"rows", "new"});
  const Gpt gpt(Scope(*slots.graph), model.config);
  slots.programs.emplace("slots", gpt.slots_program(tokens).take_options(model.program("decode")));
  share_weights(model, slots);
  SlotsModel result{slots.graph, slots.program("slots"), slots.store};
  if (adapters.empty()) return result;
  if (model.lora) {
    throw ArgumentError(
        "the model already has adapters, and adapters for single texts cannot be added to "
        "them: merge them into its weights first (weft merge)");
  }
  std::set<std::string> names;
  NamedAdapters values;
  for (const auto& [name, path] : adapters) {
    if (name.empty()) throw ArgumentError(fmt::format("the adapter {} has no name", path));
    if (!names.insert(name).second)
      throw ArgumentError(fmt::format("there are two adapters named {}", name));
    try {
      values.emplace_back(name, read_stackable(path, model));
    } catch (const Error& e) {
      throw ArgumentError(fmt::format("adapter {}: {}", name, e.what()));
    }
  }
  const AdaptedModel adapted = stack_lora(result.program, *result.store, values);
  return {adapted.graph, adapted.programs.front(), adapted.store};
}

}  // namespace weft
