#include "weft/models/hf/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"
#include "weft/models/hf/request.h"
#include "weft/serialization/match_tensors.h"

namespace weft::hf {
namespace {

ModelTypes joined(std::initializer_list<ModelTypes> lists) {
  ModelTypes types;
  for (const ModelTypes& list : lists) types.insert(types.end(), list.begin(), list.end());
  return types;
}

/// All model types. The index of a family is that of its config in FamilyConfig.
const std::array<ModelTypes, 6>& families() {
  static const std::array<ModelTypes, 6> all = {
      gpt_model_types(),
      joined({bert_model_types(), albert_model_types(), distilbert_model_types(),
              deberta_model_types(), mpnet_model_types(), modernbert_model_types(),
              nomic_model_types(), longformer_model_types()}),
      joined({t5_model_types(), bart_model_types(), t5gemma_model_types(), whisper_model_types()}),
      joined({vit_model_types(), dinov2_model_types(), beit_model_types(), mae_model_types()}),
      swin_model_types(),
      image_text_model_types()};
  return all;
}

/// Returns true if models of this type have such a config.
template <class Config>
bool is_type_of(const std::string& name) {
  const ModelTypes& types = families().at(FamilyConfig(Config()).index());
  return std::any_of(types.begin(), types.end(),
                     [&](const ModelType& type) { return type.name == name; });
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

/// Returns where `module` occurs in `name` as whole parts between dots, or npos.
std::size_t find_module(std::string_view name, std::string_view module) {
  for (std::size_t at = name.find(module); at != name.npos; at = name.find(module, at + 1)) {
    const std::size_t end = at + module.size();
    if ((at == 0 || name[at - 1] == '.') && (end == name.size() || name[end] == '.')) return at;
  }
  return std::string_view::npos;
}

/// Adds a tensor of a file under its current name, or its parts under theirs.
void add_current(const OlderNames& older, std::string name, const Tensor& tensor,
                 TensorMap& result) {
  name = modern_name(name);
  for (const auto& [old, now] : older) {
    const std::size_t at = find_module(name, old);
    if (at == name.npos) continue;
    if (now.size() == 1) {
      name.replace(at, old.size(), now.front());
      continue;
    }
    const auto parts = static_cast<std::int64_t>(now.size());
    if (tensor.rank() == 0 || tensor.size(0) % parts != 0) break;  // the matcher reports the name
    Sizes sizes = tensor.sizes();
    sizes.front() /= parts;
    for (std::int64_t i = 0; i < parts; ++i) {
      Tensor part = Tensor::empty(tensor.dtype(), sizes);
      if (part.bytes() > 0)
        std::memcpy(part.mutable_raw(), tensor.raw() + static_cast<std::size_t>(i) * part.bytes(),
                    part.bytes());
      std::string part_name = name;
      result[part_name.replace(at, old.size(), now[static_cast<std::size_t>(i)])] = part;
    }
    return;
  }
  result[name] = tensor;
}

/// Builds the requested model.
Model build(Request& request, SourceLocation loc) {
  const std::string type = request.config.model_type();
  const ModelType* known = find_model_type(type);
  if (known == nullptr) {
    const std::vector<std::string> supported = supported_model_types();
    const std::string reason = why_unsupported(type);
    throw ArgumentError(fmt::format(
        "config.json: model_type is \"{}\"{}; supported are {}", type,
        reason.empty() ? did_you_mean(type, supported) : ", which is not supported: " + reason,
        fmt::join(supported, ", ")));
  }
  Graph::Frame frame(request.graph, "build_model", loc);
  Model model = known->build(request);
  request.config.finish();
  request.finish();
  model.model_type = type;
  model.architecture = request.architecture;
  for (const auto& [name, value] : model.outputs) {
    // A model may be built again over other inputs; the first one keeps the names.
    if (!request.graph.find_named(name).defined()) request.graph.set_name(name, value);
  }
  return model;
}

/// Returns the tensors of a file under the names that the class uses. Files of the base class lack
/// the prefix of the base model, and files of classes with a head have it. If the class is a base
/// class and the file is not, tensors without the prefix belong to the head and are left out.
TensorMap class_names_of(const Model& model, const Graph& graph, const TensorMap& tensors) {
  std::set<std::string> expected;
  for (const Variable& variable : weight_variables(graph)) {
    if (model.layouts.find(variable.name()) != nullptr) {
      for (const std::string& name : model.layouts.file_names(variable)) expected.insert(name);
      continue;
    }
    expected.insert(model.names.theirs(variable.name()));
    for (const std::string& alias : variable.info().aliases)
      expected.insert(model.names.theirs(alias));
  }
  TensorMap current;
  for (const auto& [name, tensor] : tensors) add_current(model.older_names, name, tensor, current);
  const std::string& base = model.base_prefix;
  if (base.empty()) return current;
  // Returns true if the class has this tensor, and the file does not have it under this name.
  const auto is_free = [&](const std::string& name) {
    return expected.contains(name) && !current.contains(name);
  };
  TensorMap result, unknown;
  bool stripped = false;
  for (const auto& [name, tensor] : current) {
    if (expected.contains(name)) {
      result[name] = tensor;
    } else if (is_free(base + name)) {
      result[base + name] = tensor;
    } else if (name.starts_with(base) && is_free(name.substr(base.size()))) {
      result[name.substr(base.size())] = tensor;
      stripped = true;
    } else {
      unknown[name] = tensor;
    }
  }
  for (const auto& [name, tensor] : unknown) {
    if (!stripped || name.starts_with(base)) result[name] = tensor;
  }
  return result;
}

}  // namespace

const ModelTypes& model_types(std::size_t family) { return families().at(family); }

const ModelType* find_model_type(const std::string& name) {
  for (const ModelTypes& types : families()) {
    for (const ModelType& type : types) {
      if (type.name == name) return &type;
    }
  }
  return nullptr;
}

InputTypes input_types(const TensorMap& tensors) {
  InputTypes types;
  for (const auto& [name, tensor] : tensors) types[name] = {tensor.dtype(), tensor.sizes()};
  return types;
}

InputTypes minimal_inputs(const std::string& config) {
  ConfigReader reader(config);
  const std::string type = reader.model_type();
  if (is_type_of<VitConfig>(type) || is_type_of<SwinConfig>(type)) {
    VitConfig c;
    reader.field("num_channels", c.channels)
        .size("image_size", c.image_height, c.image_width)
        .size("patch_size", c.patch_height, c.patch_width);
    InputTypes inputs = {
        {"pixel_values", {DType::f32, Sizes{1, c.channels, c.image_height, c.image_width}}}};
    if (architecture_of(config) == "ViTMAEForPreTraining") {
      c.check();
      inputs["noise"] = {DType::f32, Sizes{1, c.rows() * c.columns()}};
    }
    return inputs;
  }
  std::int64_t mel_bins = EncoderDecoderConfig::whisper().mel_bins;
  std::int64_t context = EncoderDecoderConfig::whisper().source_context;
  if (type == "whisper") {
    reader.field("num_mel_bins", mel_bins).field("max_source_positions", context);
    check::at_least("max_source_positions", context, 0);
    check::at_most({{"max_source_positions", context, size_limits::kPositions}});
  }
  if (is_type_of<ImageTextConfig>(type)) return image_text_inputs(reader);
  const std::pair<DType, Sizes> ids{DType::i32, Sizes{1, 1}};
  InputTypes inputs = {{"input_ids", ids}};
  if (type == "whisper") inputs = {{"input_features", {DType::f32, {1, mel_bins, 2 * context}}}};
  const json architectures = reader.object().value("architectures", json::array());
  const bool both = reader.object().value("is_encoder_decoder", json(true)) != json(false);
  const bool encoder_only =
      architectures.is_array() && !architectures.empty() && architectures.front().is_string() &&
      (architectures.front().get<std::string>().ends_with("EncoderModel") ||
       architectures.front().get<std::string>().ends_with("AudioClassification"));
  if (is_type_of<EncoderDecoderConfig>(type) && both && !encoder_only)
    inputs["decoder_input_ids"] = ids;
  return inputs;
}

std::vector<std::string> supported_model_types() {
  std::vector<std::string> names;
  for (const ModelTypes& types : families()) {
    for (const ModelType& type : types) names.push_back(type.name);
  }
  std::sort(names.begin(), names.end());
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
                                                       std::string_view source,
                                                       std::set<std::string> keep_bf16) {
  const std::vector<Variable> variables = weight_variables(graph);
  TensorMap named = class_names_of(model, graph, tensors);
  const std::map<std::string, std::string> labels = model.layouts.join(variables, named);
  MatchOptions options{.convert = true,
                       .keep_bf16 = std::move(keep_bf16),
                       .file_name = [&](const std::string& ours) {
                         const auto label = labels.find(ours);
                         return label == labels.end() ? model.names.theirs(ours) : label->second;
                       }};
  for (const std::string& end : model.unused_buffers)
    options.allow_unexpected.insert(options.allow_unexpected.end(), {end, "*." + end});
  return match_variables(variables, named, source, options, model.architecture).pairs;
}

TensorMap file_tensors(const Model& model, TensorMap tensors) {
  TensorMap result;
  model.layouts.split(tensors, result);
  for (auto& [name, tensor] : tensors) result[model.names.theirs(name)] = std::move(tensor);
  return result;
}

TensorMap export_weights(const Model& model, const Graph& graph, const VariableStore& store) {
  TensorMap tensors;
  for (const Variable& v : weight_variables(graph)) tensors[v.name()] = store.tensor(v.name());
  return file_tensors(model, std::move(tensors));
}

}  // namespace weft::hf
