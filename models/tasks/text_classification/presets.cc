#include "weft/models/tasks/text_classification/presets.h"

#include "weft/models/tasks/common/encoder_sizes.h"

namespace weft {

const std::vector<Preset<EncoderConfig>>& text_classifier_presets() {
  static const std::vector<Preset<EncoderConfig>> presets = {
      {"bert-mini",
       "3 layers of width 128: a minute or two on two cores",
       bert_mini(),
       {.steps = 220,
        .batch = 32,
        .lr = 5e-4,
        .min_lr = 0,
        .schedule = LearningRate::linear,
        .warmup = 22,
        .beta2 = 0.98,
        .weight_decay = 0.01,
        .eval_every = 55,
        .eval_batches = 0,
        .save_every = 0}},
      {"bert-base",
       "BERT-base, as its paper fine-tunes it",
       bert_base(),
       {.steps = 1000,
        .batch = 32,
        .lr = 3e-5,
        .min_lr = 0,
        .schedule = LearningRate::linear,
        .warmup = 100,
        .beta2 = 0.999,
        .weight_decay = 0.01,
        .eval_every = 200,
        .eval_batches = 0,
        .save_every = 200}},
  };
  return presets;
}

}  // namespace weft
