#include "weft/models/tasks/token_classification/presets.h"

#include "weft/models/tasks/common/encoder_presets.h"

namespace weft {
namespace {

/// Convolutions of widths 1, 3 and 5 see a word and those beside it, which is nearly all that few
/// sentences teach of names; attention finds ways to know the sentences by heart.
EncoderConfig text_mini() {
  EncoderConfig config = convolution_mini();
  config.context = 128;
  config.width = 512;
  config.conv_kernel = 5;
  config.conv_least_kernel = 1;
  config.conv_groups = 8;
  config.hidden_dropout = 0.5;
  config.attention_dropout = 0.1;
  return config;
}

/// Tags are learned for many epochs: without dropout the sentences are known by heart soon.
EncoderConfig mini() {
  EncoderConfig config = with_dropout(bert_mini());
  config.context = 128;
  return config;
}

}  // namespace

const std::vector<Preset<EncoderConfig>>& token_classifier_presets() {
  static const std::vector<Preset<EncoderConfig>> presets = {
      {kFromTexts,
       "convolutions of width 512 that learn from these sentences alone: a few minutes on two "
       "cores",
       text_mini(), short_training(1600, 32, 2e-3, 200)},
      {kFromWeights, "3 layers of width 128: a few minutes on two cores", mini(),
       short_training(800, 32, 5e-4, 100)},
      bert_base_fine_tuning(5e-5),
  };
  return presets;
}

}  // namespace weft
