#include "weft/models/tasks/text_embedding/task.h"

#include <filesystem>

#include "weft/models/data/text.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/tasks/common/untrained_task.h"
#include "weft/models/trained/folder_encoder.h"
#include "weft/serialization/strict_json.h"

namespace weft {
namespace {

/// What a folder of Sentence Transformers says of its vectors: the mean, where it is silent.
TextPooling pooling_of(const std::string& folder) {
  const std::filesystem::path file = std::filesystem::path(folder) / "1_Pooling" / "config.json";
  if (!std::filesystem::exists(file)) return TextPooling::mean;
  const auto config = parse_json_object(read_text_file(file.string()), file.string());
  const auto cls = config.find("pooling_mode_cls_token");
  const bool first = cls != config.end() && cls->is_boolean() && cls->get<bool>();
  return first ? TextPooling::cls : TextPooling::mean;
}

class TextEmbeddingTask final : public UntrainedTask<TextEncoder> {
 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{.id = "text-embedding",
                               .family = "",
                               .name = "embed",
                               .about = "vectors of texts",
                               .folders = "encoders of any other class",
                               .uses = {Use::embed}};
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

  FolderModel to_folder(const TrainedModel& model) const override {
    return folder_model_of(dynamic_cast<const TextEncoder&>(model));
  }

  std::unique_ptr<TextEncoder> text_encoder(const TrainedModel& model) const override {
    return std::make_unique<TextEncoder>(dynamic_cast<const TextEncoder&>(model));
  }
};

}  // namespace

const Task& text_embedding_task() {
  static const TextEmbeddingTask task;
  return task;
}

}  // namespace weft
