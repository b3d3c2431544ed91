#include "weft/models/tasks/text_similarity/presets.h"

#include "weft/models/tasks/common/encoder_presets.h"

namespace weft {
namespace {

/// The config for training from scratch on a few hundred pairs. The cosine of averaged word
/// embeddings is already a good measure of similarity, and training it determines the weight of
/// each word. The data do not suffice for more: attention and dropout both reduced the correlation.
EncoderConfig text_mini() {
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
        "cosine similarity with a convolution of width 256, trained from scratch: half a minute on "
        "two cores",
        text_mini(), short_training(300, 32, 1e-3, 50)},
       {.comparison = Comparison::cosine, .pooling = Pooling::mean}},
      // Data sets with human scores are small, and without dropout a model soon memorises them.
      {{kFromWeights, "3 layers of width 128; trains in a minute or two on two cores",
        with_dropout(bert_mini()), short_training(300, 32, 5e-4, 50)}},
      {bert_base_fine_tuning(3e-5)},
  };
  return presets;
}

}  // namespace weft
