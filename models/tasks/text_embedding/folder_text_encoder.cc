#include "weft/models/tasks/text_embedding/folder_text_encoder.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/graph/engine/nonfinite.h"
#include "weft/models/hf/gpt.h"
#include "weft/models/inputs/folder_encoder.h"
#include "weft/models/tasks/text_embedding/embedding_model.h"
#include "weft/models/training/folder_weights.h"
#include "weft/serialization/match_tensors.h"
#include "weft/serialization/tensor_file.h"

namespace weft {
namespace {

constexpr const char* kTextEmbedding = "text-embedding";

/// Loads the weights of the modules after Pooling, which are in subfolders.
void load_layers(const SentenceSettings& settings, const hf::Folder& folder, const Graph& graph,
                 VariableStore& store) {
  for (const VectorLayer& layer : settings.layers) {
    if (!layer.has_weights()) continue;
    const std::string prefix = layer.scope() + ".";
    const std::string source = (std::filesystem::path(folder.root()) / layer.path).string();
    std::vector<Variable> variables;
    for (const Variable& variable : weight_variables(graph)) {
      if (variable.name().starts_with(prefix)) variables.push_back(variable);
    }
    const MatchOptions options{.convert = true, .file_name = [&](const std::string& name) {
                                 return name.substr(prefix.size());
                               }};
    const Match match = match_variables(variables, read_tensors(source), source, options,
                                        "the module described by config.json");
    for (const auto& [variable, tensor] : match.pairs)
      store.insert(variable.name(), variable.info().kind, tensor);
  }
  check_finite(store, folder.root());
}

/// Returns the settings of the modules in a folder, if it has any that compute vectors of texts.
std::optional<SentenceSettings> settings_of(const hf::Folder& folder, std::int64_t width) {
  const hf::FolderOrigin files = hf::read_origin(folder);
  // The modules of a cross-encoder do not compute vectors of single texts.
  if (sentence_model_class(files) == kCrossEncoder) return std::nullopt;
  return sentence_settings(files, width, folder.root());
}

/// Loads a decoder with modules that pool its hidden states. The vectors of the tokens are those of
/// the class without a head, as in Sentence Transformers.
std::unique_ptr<TextEncoder> decoder_of(const hf::Folder& folder, const FolderTokenizer& text) {
  auto encoder = std::make_unique<TextEncoder>();
  Graph& graph = *encoder->graph;
  const EncoderInputs inputs = add_text_inputs(graph);
  const hf::Model built = hf::build_model_over(
      graph, folder.config, {{"input_ids", inputs.ids}, {"attention_mask", inputs.attention_mask}},
      hf::gpt_base_class(folder.config));
  set_decoder(*encoder, std::get<GptConfig>(built.family.value()));
  encoder->tokenizer = require_tokenizer(text);
  encoder->reading = TextReading{.truncation_side = truncation_side(folder, encoder->tokenizer)};
  hf::with_folder_name(folder.path, [&] { encoder->check(); });
  const auto settings = settings_of(folder, encoder->config.width);
  const bool layers = std::any_of(settings->layers.begin(), settings->layers.end(),
                                  [](const VectorLayer& layer) { return layer.has_weights(); });
  if (layers) encoder->store = hf::load_weights(built, graph, folder);
  add_text_vectors(*encoder, built.outputs.at("last_hidden_state"), inputs.attention_mask,
                   &*settings);
  encoder->vectors.pooling = settings->poolings.front();
  limit_texts(*settings, *encoder, folder.root());
  if (layers) {
    load_layers(*settings, folder, graph, *encoder->store);
  } else {
    load_folder_weights(*encoder, built, folder);
  }
  return encoder;
}

}  // namespace

std::unique_ptr<TextEncoder> folder_text_encoder(const hf::Folder& folder,
                                                 const FolderTokenizer& text) {
  if (hf::is_gpt(folder.config)) {
    if (!holds_text_vectors(folder, false)) return nullptr;
    auto decoder = decoder_of(folder, text);
    decoder->task = kTextEmbedding;
    return decoder;
  }
  auto encoder = std::make_unique<TextEncoder>();
  auto found = read_folder_encoder(*encoder->graph, folder, text, {.embeds = true});
  if (!found) return nullptr;
  encoder->task = kTextEmbedding;
  const auto settings = settings_of(folder, found->config.width);
  add_text_vectors(*encoder, found->output("last_hidden_state"), found->mask,
                   settings ? &*settings : nullptr);
  const auto pooled = found->model.outputs.find("pooler_output");
  if (pooled != found->model.outputs.end())
    encoder->add_program("pooler").output("vectors", pooled->second);
  add_unpadded_vectors(*encoder, found->config, settings ? &*settings : nullptr);
  if (settings) {
    encoder->vectors.pooling = settings->poolings.front();
    load_layers(*settings, folder, *encoder->graph, *found->store);
  }
  found->into(*encoder);
  if (settings) limit_texts(*settings, *encoder, folder.root());
  return encoder;
}

TensorMap module_weights(const SentenceSettings& settings, const std::string& root) {
  TensorMap weights;
  for (const VectorLayer& layer : settings.layers) {
    if (!layer.has_weights()) continue;
    const std::string source = (std::filesystem::path(root) / layer.path).string();
    for (const auto& [name, tensor] : read_tensors(source))
      weights[layer.scope() + "." + name] = tensor.to(DType::f32);
  }
  return weights;
}

bool holds_text_vectors(const hf::Folder& folder, bool any) {
  const std::string found = sentence_model_class(hf::read_origin(folder));
  return found == "SentenceTransformer" || (any && !found.empty() && found != kCrossEncoder);
}

}  // namespace weft
