#include "weft/models/hf/adapters/base_class.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "weft/models/hf/model.h"
#include "weft/models/hf/request.h"

namespace weft::hf {
namespace {

std::string class_ending(std::string_view task_type) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kEndings = {
      {{"SEQ_CLS", "ForSequenceClassification"},
       {"TOKEN_CLS", "ForTokenClassification"},
       {"QUESTION_ANS", "ForQuestionAnswering"}}};
  for (const auto& [type, ending] : kEndings) {
    if (type == task_type) return std::string(ending);
  }
  return {};
}

/// Returns the parameters of the head in the adapter folder, by their names in transformers.
TensorMap head_tensors(const AdapterFolder& adapters) {
  constexpr std::string_view kFront = "base_model.model.";
  TensorMap head;
  for (const auto& [full, tensor] : adapters.tensors) {
    if (!full.starts_with(kFront) || full.find(".lora_") != std::string::npos) continue;
    const std::string name = full.substr(kFront.size());
    if (adapters.config.is_saved_head(name) || adapters.config.saves(name)) head[name] = tensor;
  }
  return head;
}

/// Returns the number of labels: the number of outputs of the last layer, which has the name that
/// comes last ("classifier.out_proj" after "classifier.dense").
std::int64_t label_count(const TensorMap& head) {
  std::int64_t count = 0;
  for (const auto& [name, tensor] : head) {
    const bool last = name.starts_with("classifier.") || name.starts_with("score.");
    if (last && name.ends_with(".weight") && tensor.rank() == 2) count = tensor.size(0);
  }
  return count;
}

}  // namespace

Folder with_adapter_head(Folder base, const AdapterFolder& adapters) {
  const std::string ending = class_ending(adapters.config.task_type);
  json config = parse_json_object(base.config, base.path + "/config.json");
  const ModelType* type = find_model_type(ConfigReader(base.config).model_type());
  if (ending.empty() || type == nullptr || architecture_of(base.config).ends_with(ending))
    return base;
  const TensorMap head = head_tensors(adapters);
  config["architectures"] = json::array({type->class_name(ending)});
  if (const std::int64_t labels = label_count(head);
      labels > 0 && ConfigReader(config.dump()).labels() != labels) {
    for (const char* key : {"id2label", "label2id", "_num_labels"}) config.erase(key);
    config["num_labels"] = labels;
  }
  base.config = config.dump(2);
  Graph graph;
  const Model model = build_model(graph, base.config, minimal_inputs(base.config));
  const ParameterNames names = parameter_names(model, graph);
  // Files of the base class lack the prefix of the base model.
  std::set<std::string> prefixes = {""};
  for (const auto& [theirs, ours] : names) prefixes.insert(theirs.substr(0, theirs.find('.') + 1));
  TensorMap weights;
  for (const auto& [name, tensor] : base.weights) {
    for (const std::string& prefix : prefixes) {
      if (names.contains(prefix + name)) weights.emplace(prefix + name, tensor);
    }
  }
  for (const auto& [name, tensor] : head) {
    if (names.contains(name)) weights.insert_or_assign(name, tensor);
  }
  base.weights = std::move(weights);
  return base;
}

}  // namespace weft::hf
