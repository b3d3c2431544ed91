#include "weft/models/tasks/text_similarity/presets.h"

#include "weft/models/tasks/common/encoder_sizes.h"

namespace weft {
namespace {

/// Few lines are scored by hand, and learned by heart soon.
EncoderConfig bert_mini_with_dropout() {
  EncoderConfig config = bert_mini();
  config.hidden_dropout = config.attention_dropout = 0.1;
  return config;
}

}  // namespace

const std::vector<Preset<EncoderConfig>>& text_similarity_presets() {
  static const std::vector<Preset<EncoderConfig>> presets = {
      {"bert-mini",
       "3 layers of width 128: a minute or two on two cores",
       bert_mini_with_dropout(),
       {.steps = 300,
        .batch = 32,
        .lr = 5e-4,
        .min_lr = 0,
        .schedule = LearningRate::linear,
        .warmup = 30,
        .beta2 = 0.98,
        .weight_decay = 0.01,
        .eval_every = 50,
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
