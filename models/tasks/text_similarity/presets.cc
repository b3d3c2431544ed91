#include "weft/models/tasks/text_similarity/presets.h"

#include "weft/models/tasks/common/encoder_presets.h"

namespace weft {
namespace {

/// Returns the config for training from scratch on a few hundred pairs. The cosine of averaged word
/// embeddings is already a good similarity measure, and training determines the weight of each
/// word. There is not enough data for larger models: attention and dropout both reduced the
/// correlation.
EncoderConfig similarity_mini() {
  EncoderConfig config = convolution_mini();
  config.width = 256;
  config.conv_kernel = 3;
  config.conv_groups = 4;
  return config;
}

}  // namespace

const std::vector<SimilarityPreset>& text_similarity_presets() {
  static const std::vector<SimilarityPreset> presets = {
      {{kFromTexts,
        "cosine similarity with a convolution, width 256, trained from scratch: half a minute on "
        "two cores",
        similarity_mini(), short_training(300, 32, 1e-3, 50)},
       {.comparison = Comparison::cosine, .pooling = Pooling::mean}},
      // Data sets with human scores are small, so models without dropout soon memorise them.
      {{kFromWeights, "3 layers, width 128; trains in a minute or two on two cores",
        with_dropout(bert_mini()), short_training(300, 32, 5e-4, 50)}},
      {bert_base_fine_tuning(3e-5)},
  };
  return presets;
}

}  // namespace weft
