#include "weft/models/tasks/image_embedding/task.h"

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/inputs/preprocessor.h"
#include "weft/models/tasks/common/untrained_task.h"
#include "weft/models/tasks/image_embedding/image_encoder.h"

namespace weft {
namespace {

/// Returns the vectors of a class, see ImageEncoder.
Value vectors_of(const hf::Model& model, const Graph& graph) {
  const auto find = [&](const char* name) {
    const auto found = model.outputs.find(name);
    return found == model.outputs.end() ? Value() : found->second;
  };
  if (const Value vectors = find("image_embeds"); vectors.defined()) return vectors;
  const bool dense = graph.has_variable("pooler.weight");
  if (const Value pooled = find("pooler_output"); pooled.defined() && !dense) return pooled;
  const Value h = find("last_hidden_state");
  if (!h.defined() || h.rank() != 3) return {};
  const auto* vit = model.family ? std::get_if<VitConfig>(&*model.family) : nullptr;
  const bool has_class_token = vit == nullptr ? false : vit->has_class_token();
  return has_class_token ? select(h, 1, Dim(0)) : mean(h, {1});
}

class ImageEmbeddingTask final : public UntrainedTask<ImageEncoder> {
 public:
  const TaskInfo& info() const override {
    static const TaskInfo info{.id = "image-embedding",
                               .family = "",
                               .name = "embed-images",
                               .about = "compute image embeddings",
                               .folders = "vision models of any other class"};
    return info;
  }

  std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                            const FolderTokenizer&) const override {
    const hf::InputTypes inputs = hf::minimal_inputs(folder.config);
    const auto pixels = inputs.find("pixel_values");
    // The class for pre-training also reads noise; its base class computes the vectors.
    const bool autoencoder = hf::architecture_of(folder.config) == "ViTMAEForPreTraining";
    if (pixels == inputs.end() || (inputs.size() != 1 && !autoencoder)) return nullptr;
    auto encoder = std::make_unique<ImageEncoder>();
    Graph& graph = *encoder->graph;
    const Sizes& sizes = pixels->second.second;
    const ImageSize size{sizes[1], sizes[2], sizes[3]};
    encoder->images = folder_preprocessing(folder, size);
    const Value images =
        graph.input("images", DType::f32, {"batch", size.channels, size.height, size.width});
    const hf::Model built = hf::build_model_over(
        graph, folder.config, {{"pixel_values", normalised(images, encoder->images.normalisation)}},
        autoencoder ? "ViTMAEModel" : "");
    const Value vectors = vectors_of(built, graph);
    if (!vectors.defined() || !built.family) return nullptr;
    encoder->task = info().id;
    encoder->config.family = *built.family;
    encoder->add_program("vectors").output("vectors", vectors);
    if (graph.has_variable("pooler.weight"))
      encoder->add_program("pooler").output("vectors", built.outputs.at("pooler_output"));
    encoder->store = hf::load_weights(built, graph, folder);
    encoder->check();
    return encoder;
  }
};

}  // namespace

const Task& image_embedding_task() {
  static const ImageEmbeddingTask task;
  return task;
}

}  // namespace weft
