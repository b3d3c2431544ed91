#include "weft/models/tasks/masked_tokens/presets.h"

#include "weft/models/tasks/common/encoder_presets.h"

namespace weft {

const std::vector<Preset<EncoderConfig>>& encoder_presets() {
  static const std::vector<Preset<EncoderConfig>> presets = {
      {"bert-mini", "3 layers, width 128; trains in a few minutes on two cores", bert_mini(),
       encoder_training({.steps = 1000,
                         .batch = 16,
                         .lr = 1e-3,
                         .warmup = 100,
                         .beta2 = 0.98,
                         .validation_fraction = 0.02,
                         .eval_every = 250,
                         .save_every = 250})},
      {"bert-base", "BERT-base, pre-trained as in the BERT paper", bert_base(),
       encoder_training({.steps = 1000000,
                         .batch = 256,
                         .lr = 1e-4,
                         .warmup = 10000,
                         .beta2 = 0.999,
                         .validation_fraction = 0.01,
                         .eval_every = 10000,
                         .save_every = 1000})},
      {"modernbert-mini",
       "ModernBERT with 3 layers, width 128; trains in a few minutes on two cores",
       modernbert_mini(),
       encoder_training({.steps = 1000,
                         .batch = 16,
                         .lr = 1e-3,
                         .warmup = 100,
                         .beta2 = 0.98,
                         .validation_fraction = 0.02,
                         .eval_every = 250,
                         .save_every = 250})},
      // The paper has a trapezoidal schedule and StableAdamW, and masks 30% of the tokens.
      {"modernbert-base", "ModernBERT-base; use with --mask-rate 0.3", EncoderConfig::modernbert(),
       encoder_training({.steps = 1000000,
                         .batch = 256,
                         .lr = 8e-4,
                         .warmup = 10000,
                         .beta2 = 0.98,
                         .validation_fraction = 0.01,
                         .eval_every = 10000,
                         .save_every = 1000})},
  };
  return presets;
}

}  // namespace weft
