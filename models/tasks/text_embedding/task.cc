#include "weft/models/tasks/text_embedding/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/engine/nonfinite.h"
#include "weft/models/generate/generator.h"
#include "weft/models/hf/gpt.h"
#include "weft/models/inputs/folder_encoder.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/tasks/common/untrained_task.h"
#include "weft/models/training/folder_weights.h"
#include "weft/serialization/match_tensors.h"
#include "weft/serialization/tensor_file.h"

namespace weft {
namespace {

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

/// Applies the settings that concern the texts to the options of the encoder's reader.
void limit_texts(const SentenceSettings& settings, TextEncoder& encoder, const std::string& path) {
  const auto least = encoder.reader().row("").ids.size();
  if (settings.max_tokens > 0 && settings.max_tokens <= static_cast<std::int64_t>(least)) {
    throw ArgumentError(
        fmt::format("{}: the maximum length of a text (max_seq_length of sentence_bert_config.json "
                    "or model_max_length of tokenizer_config.json) is {} tokens, but the tokenizer "
                    "adds {} special tokens to every text",
                    path, settings.max_tokens, least));
  }
  encoder.reading->max_tokens = settings.max_tokens;
  encoder.reading->lower_case = settings.lower_case;
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
  encoder->decoder = std::get<GptConfig>(built.family.value());
  encoder->config = {.vocab = encoder->decoder->vocab,
                     .context = trained_context(*encoder->decoder),
                     .token_types = 0,
                     .padding_id = -1,
                     .layers = 1,
                     .heads = 1,
                     .width = encoder->decoder->width};
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

class TextEmbeddingTask final : public UntrainedTask<TextEncoder> {
 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{.id = "text-embedding",
                               .family = "",
                               .name = "embed",
                               .about = "compute text embeddings",
                               .folders = "encoders of any other class"};
    return info;
  }

  std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                            const FolderTokenizer& text) const override {
    if (hf::is_gpt(folder.config)) {
      if (!holds_text_vectors(folder, false)) return nullptr;
      auto decoder = decoder_of(folder, text);
      decoder->task = info().id;
      return decoder;
    }
    auto encoder = std::make_unique<TextEncoder>();
    auto found = read_folder_encoder(*encoder->graph, folder, text, {});
    if (!found) return nullptr;
    encoder->task = info().id;
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
};

}  // namespace

const Task& text_embedding_task() {
  static const TextEmbeddingTask task;
  return task;
}

bool holds_text_vectors(const hf::Folder& folder, bool any) {
  const std::string found = sentence_model_class(hf::read_origin(folder));
  return found == "SentenceTransformer" || (any && !found.empty() && found != kCrossEncoder);
}

}  // namespace weft
