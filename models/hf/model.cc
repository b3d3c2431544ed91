#include "weft/models/hf/model.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/hf/request.h"
#include "weft/serialization/match_tensors.h"

namespace weft::hf {
namespace {

const std::map<std::string, ModelType>& model_types() {
  static const std::map<std::string, ModelType> table = {
      {"albert", {"Albert", build_albert, write_albert}},
      {"bart", {"Bart", build_bart, write_bart}},
      {"bert", {"Bert", build_bert, write_bert}},
      {"camembert", {"Camembert", build_roberta, write_bert}},
      {"deberta", {"Deberta", build_deberta, write_deberta}},
      {"deberta-v2", {"DebertaV2", build_deberta_v2, write_deberta}},
      {"deit", {"DeiT", build_deit, write_vit}},
      {"distilbert", {"DistilBert", build_distilbert, write_distilbert}},
      {"electra", {"Electra", build_electra, write_electra}},
      {"gpt2", {"GPT2", build_gpt, write_gpt}},
      {"gpt_neox", {"GPTNeoX", build_gpt, write_gpt}},
      {"llama", {"Llama", build_gpt, write_gpt}},
      {"marian", {"Marian", build_marian, write_bart}},
      {"mbart", {"MBart", build_mbart, write_bart}},
      {"mistral", {"Mistral", build_gpt, write_gpt}},
      {"mt5", {"MT5", build_t5, write_t5}},
      {"openai-gpt", {"OpenAIGPT", build_gpt, write_gpt}},
      {"pegasus", {"Pegasus", build_pegasus, write_bart}},
      {"roberta", {"Roberta", build_roberta, write_bert}},
      {"t5", {"T5", build_t5, write_t5}},
      {"vit", {"ViT", build_vit, write_vit}},
      {"xlm-roberta", {"XLMRoberta", build_roberta, write_bert}}};
  return table;
}

/// Converts parameter names in files that were written before version 2 of Hugging Face
/// transformers, for example "LayerNorm.gamma" to "LayerNorm.weight".
std::string modern_name(const std::string& name) {
  for (const auto& [old, now] : {std::pair{"LayerNorm.gamma", "LayerNorm.weight"},
                                 std::pair{"LayerNorm.beta", "LayerNorm.bias"}}) {
    const std::string_view end = old;
    if (name.ends_with(end)) return name.substr(0, name.size() - end.size()) + now;
  }
  return name;
}

/// Builds the requested model.
Model build(Request& request, SourceLocation loc) {
  const std::string type = request.config.model_type();
  const ModelType* known = find_model_type(type);
  if (known == nullptr) {
    throw ArgumentError(fmt::format("config.json: model_type is \"{}\"; supported are {}", type,
                                    fmt::join(supported_model_types(), ", ")));
  }
  Graph::Frame frame(request.graph, "build_model", loc);
  Model model = known->build(request);
  request.config.finish();
  request.finish();
  model.model_type = type;
  model.architecture = request.architecture;
  for (const auto& [name, value] : model.outputs) request.graph.set_name(name, value);
  return model;
}

/// Returns the tensors of a file under their current names. The published files of GPT-1 and GPT-2
/// were written by the base class, so their names lack the prefix "transformer." that classes with
/// a head use.
TensorMap modern_names(const Model& model, const TensorMap& tensors) {
  constexpr std::string_view kBase = "transformer.";
  bool lacks = (model.model_type == "gpt2" || model.model_type == "openai-gpt") &&
               model.names.theirs("transformer.h").starts_with(kBase);
  for (const auto& [name, tensor] : tensors) lacks = lacks && !name.starts_with(kBase);
  TensorMap result;
  for (const auto& [name, tensor] : tensors) {
    const bool head = name.starts_with("lm_head.") || name.starts_with("score.");
    result[(lacks && !head ? std::string(kBase) : "") + modern_name(name)] = tensor;
  }
  return result;
}

}  // namespace

const ModelType* find_model_type(const std::string& name) {
  const auto found = model_types().find(name);
  return found == model_types().end() ? nullptr : &found->second;
}

InputTypes input_types(const TensorMap& tensors) {
  InputTypes types;
  for (const auto& [name, tensor] : tensors) types[name] = {tensor.dtype(), tensor.sizes()};
  return types;
}

InputTypes minimal_inputs(const std::string& config) {
  ConfigReader reader(config);
  const std::string type = reader.model_type();
  if (type == "vit" || type == "deit") {
    const VitConfig defaults;
    std::int64_t channels = defaults.channels;
    std::int64_t height = defaults.image_height, width = defaults.image_width;
    reader.field("num_channels", channels).size("image_size", height, width);
    return {{"pixel_values", {DType::f32, Sizes{1, channels, height, width}}}};
  }
  const std::pair<DType, Sizes> ids{DType::i32, Sizes{1, 1}};
  InputTypes inputs = {{"input_ids", ids}};
  static const std::set<std::string> kTwoStacks = {"bart", "marian",  "mbart",
                                                   "mt5",  "pegasus", "t5"};
  const json architectures = reader.object().value("architectures", json::array());
  const bool encoder_only = architectures.is_array() && !architectures.empty() &&
                            architectures.front().is_string() &&
                            architectures.front().get<std::string>().ends_with("EncoderModel");
  if (kTwoStacks.contains(type) && !encoder_only) inputs["decoder_input_ids"] = ids;
  return inputs;
}

std::vector<std::string> supported_model_types() {
  std::vector<std::string> names;
  for (const auto& [name, type] : model_types()) names.push_back(name);
  return names;
}

Model build_model(Graph& graph, const std::string& config, const InputTypes& inputs,
                  const std::string& architecture, SourceLocation loc) {
  Request request(graph, config, inputs, architecture);
  Model model = build(request, loc);
  model.config = config;
  return model;
}

Model build_model_over(Graph& graph, const std::string& config, const InputValues& inputs,
                       const std::string& architecture, SourceLocation loc) {
  Request request(graph, config, inputs, architecture);
  Model model = build(request, loc);
  model.config = config;
  return model;
}

std::string architecture_of(const std::string& config) {
  const std::vector<std::string> names = ConfigReader(config).list("architectures");
  return names.empty() ? std::string() : names.front();
}

std::string problem_type(const std::string& config) {
  return ConfigReader(config).text("problem_type");
}

std::vector<std::pair<Variable, Tensor>> match_weights(const Model& model, Graph& graph,
                                                       const TensorMap& tensors,
                                                       std::string_view source) {
  MatchOptions options{.convert = true, .file_name = [&](const std::string& ours) {
                         return model.names.theirs(ours);
                       }};
  for (const std::string& end : model.unused_buffers)
    options.allow_unexpected.insert(options.allow_unexpected.end(), {end, "*." + end});
  return match_variables(weight_variables(graph), modern_names(model, tensors), source, options,
                         model.architecture)
      .pairs;
}

TensorMap export_weights(const Model& model, const Graph& graph, const VariableStore& store) {
  TensorMap tensors;
  for (const Variable& v : weight_variables(graph))
    tensors[model.names.theirs(v.name())] = store.tensor(v.name());
  return tensors;
}

}  // namespace weft::hf
