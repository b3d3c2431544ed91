#include "weft/models/tasks/masked_tokens/pretraining.h"

#include "weft/models/trained/encoder_vocabulary.h"

namespace weft {

const ModelLayout& PretrainingModel::file_layout() {
  static const ModelLayout layout =
      ModelLayout{.kind = "pre-trained encoder",
                  .programs = {"evaluate"},
                  .renamed_programs = {{"masked_lm", "evaluate"}}}
          .config(&PretrainingModel::config)
          .tokenizer(&PretrainingModel::tokenizer)
          .added_part("train.pretraining", "weft.train.pretraining", &PretrainingModel::options);
  return layout;
}

void PretrainingModel::check() const { check_vocabulary(config, tokenizer); }

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
  model.programs = build_pretraining(*model.graph, config, options, settings.precision);
  return model;
}

}  // namespace weft
