#include "weft/models/tasks/masked_tokens/pretraining.h"

#include "weft/graph/functions.h"
#include "weft/models/families/encoder_heads.h"
#include "weft/models/inputs/folder_encoder.h"

namespace weft {

const ModelLayout& PretrainingModel::file_layout() {
  static const ModelLayout layout =
      ModelLayout{.kind = "pre-trained encoder",
                  .uses = {Use::fill, Use::embed},
                  .programs = {"evaluate"},
                  .renamed_programs = {{"masked_lm", "evaluate"}}}
          .config(&PretrainingModel::config)
          .tokenizer(&PretrainingModel::tokenizer)
          .added_part("train.pretraining", "weft.train.pretraining", &PretrainingModel::options)
          .part(kReadingPart, "weft.reading", &PretrainingModel::reading);
  return layout;
}

PretrainingModel build_pretraining_model(const EncoderConfig& config, const Tokenizer& tokenizer,
                                         const TrainSettings& settings,
                                         const PretrainingOptions& options) {
  PretrainingModel model;
  model.task = choice_name(options.objective);
  model.settings = settings;
  model.config = config;
  model.tokenizer = tokenizer;
  model.options = options;
  model.check();
  model.programs = build_pretraining(*model.graph, config, options, settings);
  return model;
}

std::unique_ptr<PretrainingModel> masked_language_model_of(const hf::Folder& folder,
                                                           const FolderTokenizer& text) {
  auto model = std::make_unique<PretrainingModel>();
  Graph& graph = *model->graph;
  auto found =
      read_folder_encoder(graph, folder, text,
                          {.endings = {"ForMaskedLM", "BertForPreTraining", "AlbertForPreTraining"},
                           .more = {{"picks", graph.input("picks", DType::i32, {"picks"})}}});
  if (!found) return nullptr;
  const bool alone = found->model.outputs.contains("logits");
  const Value logits = found->output(alone ? "logits" : "prediction_logits");
  model->add_program("evaluate")
      .precision(model->settings.precision)
      .output("loss", label_loss(logits, graph.input("labels", DType::i32, {"picks"})))
      .output("predicted", argmax(logits, -1));
  model->options.objective = PretrainingObjective::mlm;
  model->task = choice_name(model->options.objective);
  found->into(*model);
  return model;
}

FolderModel PretrainingModel::to_folder() const {
  FolderModel folder = encoder_folder(*this, {"ForPreTraining", "ForMaskedLM"});
  if (reading) {
    require_origin(*this);
    return folder;
  }
  if (options.objective != PretrainingObjective::rtd) {
    folder.library.masked_lm = masked_lm_options(config);
    return folder;
  }
  folder.library.endings = {"ForPreTraining"};
  folder.notes = {"the generator is not written, because it is a separate model in transformers"};
  folder.weights = [](TensorMap weights) {
    std::erase_if(weights,
                  [](const auto& weight) { return weight.first.starts_with("generator"); });
    return weights;
  };
  return folder;
}

}  // namespace weft
