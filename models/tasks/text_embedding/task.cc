#include "weft/models/tasks/text_embedding/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/inputs/folder_encoder.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/tasks/common/untrained_task.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/files/strict_json.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

/// Checks the modules that Sentence Transformers applies after the encoder. Throws ArgumentError if
/// a module transforms vectors in a way that weft embed does not support.
void check_modules(const fs::path& file) {
  if (!fs::exists(file)) return;
  const auto modules = parse_json(read_whole_file(file.string()), file.string());
  if (!modules.is_array()) throw FormatError(file.string() + " is not a list of modules");
  for (const auto& module : modules) {
    const auto found = module.find("type");  // end() if the module is not an object
    const std::string type =
        found != module.end() && found->is_string() ? found->get<std::string>() : std::string();
    const std::string name = type.substr(type.rfind('.') + 1);
    // Normalize can be ignored, because weft embed scales vectors to length 1 by default.
    if (name == "Transformer" || name == "Pooling" || name == "Normalize") continue;
    throw ArgumentError(
        fmt::format("{}: the module \"{}\" is not supported; supported modules are Transformer, "
                    "Pooling and Normalize",
                    file.string(), type));
  }
}

/// Returns the pooling in a Sentence Transformers folder, or the mean if the folder does not
/// specify it. Throws ArgumentError if the pooling mode is not supported.
TextPooling pooling_of(const fs::path& folder) {
  check_modules(folder / "modules.json");
  const fs::path file = folder / "1_Pooling" / "config.json";
  if (!fs::exists(file)) return TextPooling::mean;
  const auto config = parse_json_object(read_whole_file(file.string()), file.string());
  const std::string front = "pooling_mode_", first = front + "cls_token",
                    all = front + "mean_tokens";
  std::vector<std::string> modes;
  for (const auto& [key, value] : config.items()) {
    if (key.starts_with(front) && value.is_boolean() && value.get<bool>()) modes.push_back(key);
  }
  if (modes.empty() || modes == std::vector{all}) return TextPooling::mean;
  if (modes == std::vector{first}) return TextPooling::cls;
  throw ArgumentError(fmt::format("{}: {} is not supported, only {} or {} alone", file.string(),
                                  fmt::join(modes, " with "), first, all));
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
    add_text_vectors(*encoder, found->output("last_hidden_state"), found->mask);
    const auto pooled = found->model.outputs.find("pooler_output");
    if (pooled != found->model.outputs.end())
      encoder->add_program("pooler").output("vectors", pooled->second);
    encoder->vectors.pooling = pooling_of(folder.path);
    found->into(*encoder);
    return encoder;
  }
};

}  // namespace

const Task& text_embedding_task() {
  static const TextEmbeddingTask task;
  return task;
}

}  // namespace weft
