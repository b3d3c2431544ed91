#include "weft/models/tasks/token_classification/presets.h"

#include "weft/models/tasks/common/encoder_presets.h"

namespace weft {
namespace {

/// Tags are learned for many epochs: without dropout the sentences are known by heart soon.
EncoderConfig mini() {
  EncoderConfig config = with_dropout(bert_mini());
  config.context = 128;
  return config;
}

}  // namespace

const std::vector<Preset<EncoderConfig>>& token_classifier_presets() {
  static const std::vector<Preset<EncoderConfig>> presets = {
      {"bert-mini", "3 layers of width 128: a few minutes on two cores", mini(),
       short_training(800, 32, 5e-4, 100)},
      bert_base_fine_tuning(5e-5),
  };
  return presets;
}

}  // namespace weft
