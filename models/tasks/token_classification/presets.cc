#include "weft/models/tasks/token_classification/presets.h"

#include "weft/models/tasks/common/encoder_presets.h"

namespace weft {
namespace {

/// Returns the config for training from scratch on a small data set. Convolutions with kernel sizes
/// 1, 3 and 5 cover a word and its neighbours. In a small data set, more distant words carry little
/// information about names, and attention would memorise the sentences.
EncoderConfig tagging_mini() {
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

/// Training runs for many epochs, and a model without dropout would soon memorise the sentences.
EncoderConfig mini() {
  EncoderConfig config = with_dropout(bert_mini());
  config.context = 128;
  return config;
}

}  // namespace

const std::vector<Preset<EncoderConfig>>& token_classifier_presets() {
  static const std::vector<Preset<EncoderConfig>> presets = {
      {kFromTexts, "convolutions, width 512, trained from scratch: a few minutes on two cores",
       tagging_mini(), short_training(1600, 32, 2e-3, 200)},
      {kFromWeights, "3 layers, width 128; trains in a few minutes on two cores", mini(),
       short_training(800, 32, 5e-4, 100)},
      bert_base_fine_tuning(5e-5),
  };
  return presets;
}

}  // namespace weft
