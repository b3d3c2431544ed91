#include "weft/models/tasks/span_answering/presets.h"

#include "weft/models/tasks/common/encoder_presets.h"

namespace weft {
namespace {

/// Returns a config with token types, which distinguish a question from its context, and with a
/// context length that is sufficient for both.
EncoderConfig mini() {
  EncoderConfig config = bert_mini();
  config.context = 256;
  config.token_types = 2;
  return config;
}

}  // namespace

const std::vector<Preset<EncoderConfig>>& span_answerer_presets() {
  static const std::vector<Preset<EncoderConfig>> presets = {
      {"bert-mini", "3 layers, width 128; should be initialised from a pre-trained model", mini(),
       short_training(2000, 16, 5e-4, 200)},
      bert_base_fine_tuning(3e-5),
  };
  return presets;
}

}  // namespace weft
