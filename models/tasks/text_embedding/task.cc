#include "weft/models/tasks/text_embedding/task.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/engine/nonfinite.h"
#include "weft/models/inputs/folder_encoder.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/tasks/common/untrained_task.h"
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

/// Applies the settings that concern the texts to a reader's options.
void limit_texts(const SentenceSettings& settings, FolderEncoder& found, const std::string& path) {
  const auto least = TextReader(found.config, found.tokenizer, found.reading).row("").ids.size();
  if (settings.max_tokens > 0 && settings.max_tokens <= static_cast<std::int64_t>(least)) {
    throw ArgumentError(
        fmt::format("{}: the maximum length of a text (max_seq_length of sentence_bert_config.json "
                    "or model_max_length of tokenizer_config.json) is {} tokens, but the tokenizer "
                    "adds {} special tokens to every text",
                    path, settings.max_tokens, least));
  }
  found.reading->max_tokens = settings.max_tokens;
  found.reading->lower_case = settings.lower_case;
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
    auto encoder = std::make_unique<TextEncoder>();
    auto found = read_folder_encoder(*encoder->graph, folder, text, {});
    if (!found) return nullptr;
    encoder->task = info().id;
    const hf::FolderOrigin files = hf::read_origin(folder);
    // The modules of a cross-encoder do not compute vectors of single texts.
    const auto settings = sentence_model_class(files) == kCrossEncoder
                              ? std::nullopt
                              : sentence_settings(files, found->config.width, folder.root());
    add_text_vectors(*encoder, found->output("last_hidden_state"), found->mask,
                     settings ? &*settings : nullptr);
    const auto pooled = found->model.outputs.find("pooler_output");
    if (pooled != found->model.outputs.end())
      encoder->add_program("pooler").output("vectors", pooled->second);
    if (settings) {
      encoder->vectors.pooling = settings->poolings.front();
      limit_texts(*settings, *found, folder.root());
      load_layers(*settings, folder, *encoder->graph, *found->store);
    }
    found->into(*encoder);
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
