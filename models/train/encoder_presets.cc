#include "weft/models/train/encoder_presets.h"

namespace weft {
namespace {

EncoderConfig bert_mini() {
  EncoderConfig config;
  config.vocab = 4000;
  config.context = 64;
  config.token_types = 0;
  config.layers = 3;
  config.heads = 4;
  config.width = 128;
  config.inner = 512;
  // No dropout: so few steps do not learn the texts by heart.
  // About half of 1 / sqrt(width): BERT's 0.02 is made for wide models.
  config.initializer_range = 0.05;
  return config;
}

EncoderConfig bert_base() {
  EncoderConfig config;
  config.hidden_dropout = config.attention_dropout = 0.1;
  return config;
}

}  // namespace

const std::vector<Preset<EncoderConfig>>& encoder_presets() {
  static const std::vector<Preset<EncoderConfig>> presets = {
      {"bert-mini",
       "3 layers of width 128: a few minutes on two cores",
       bert_mini(),
       {.steps = 1000,
        .batch = 16,
        .lr = 1e-3,
        .min_lr = 0,
        .schedule = LearningRate::linear,
        .warmup = 100,
        .beta2 = 0.98,
        .weight_decay = 0.01,
        .validation_fraction = 0.02,
        .eval_every = 250,
        .save_every = 250}},
      {"bert-base",
       "BERT-base, as its paper trained it",
       bert_base(),
       {.steps = 1000000,
        .batch = 256,
        .lr = 1e-4,
        .min_lr = 0,
        .schedule = LearningRate::linear,
        .warmup = 10000,
        .beta2 = 0.999,
        .weight_decay = 0.01,
        .validation_fraction = 0.01,
        .eval_every = 10000,
        .save_every = 1000}},
  };
  return presets;
}

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
