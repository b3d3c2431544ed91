#include "weft/models/tasks/masked_tokens/presets.h"

#include "weft/models/tasks/common/encoder_presets.h"

namespace weft {
namespace {

TrainSettings mini_training() {
  return encoder_training({.steps = 1000,
                           .batch = 16,
                           .lr = 1e-3,
                           .warmup = 100,
                           .beta2 = 0.98,
                           .validation_fraction = 0.02,
                           .eval_every = 250,
                           .save_every = 250});
}

TrainSettings base_training(double lr, double beta2) {
  return encoder_training({.steps = 1000000,
                           .batch = 256,
                           .lr = lr,
                           .warmup = 10000,
                           .beta2 = beta2,
                           .validation_fraction = 0.01,
                           .eval_every = 10000,
                           .save_every = 1000});
}

}  // namespace

const std::vector<Preset<EncoderConfig>>& encoder_presets() {
  static const std::vector<Preset<EncoderConfig>> presets = {
      {"bert-mini", "3 layers, width 128; trains in a few minutes on two cores", bert_mini(),
       mini_training()},
      {"bert-base", "BERT-base, pre-trained as in the BERT paper", bert_base(),
       base_training(1e-4, 0.999)},
      {"modernbert-mini",
       "ModernBERT with 3 layers, width 128; trains in a few minutes on two cores",
       modernbert_mini(), mini_training()},
      // The paper has a trapezoidal schedule and StableAdamW, and masks 30% of the tokens.
      {"modernbert-base", "ModernBERT-base; use with --mask-rate 0.3", EncoderConfig::modernbert(),
       base_training(8e-4, 0.98)},
  };
  return presets;
}

}  // namespace weft
