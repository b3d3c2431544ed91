#include "weft/models/tasks/token_classification/presets.h"

#include "weft/models/tasks/common/encoder_sizes.h"

namespace weft {
namespace {

/// Tags are learned for many epochs: without dropout the sentences are known by heart soon.
EncoderConfig mini() {
  EncoderConfig config = bert_mini();
  config.context = 128;
  config.hidden_dropout = config.attention_dropout = 0.1;
  return config;
}

}  // namespace

const std::vector<Preset<EncoderConfig>>& token_classifier_presets() {
  static const std::vector<Preset<EncoderConfig>> presets = {
      {"bert-mini",
       "3 layers of width 128: a few minutes on two cores",
       mini(),
       {.steps = 800,
        .batch = 32,
        .lr = 5e-4,
        .min_lr = 0,
        .schedule = LearningRate::linear,
        .warmup = 80,
        .beta2 = 0.98,
        .weight_decay = 0.01,
        .eval_every = 100,
        .eval_batches = 0,
        .save_every = 0}},
      {"bert-base",
       "BERT-base, as its paper fine-tunes it",
       bert_base(),
       {.steps = 1000,
        .batch = 32,
        .lr = 5e-5,
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
