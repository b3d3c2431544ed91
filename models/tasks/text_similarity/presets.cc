#include "weft/models/tasks/text_similarity/presets.h"

#include "weft/models/tasks/common/encoder_presets.h"

namespace weft {
namespace {

/// The cosine of the mean of words is much of what there is to similarity, and learns how much each
/// word counts. A few hundred lines teach no more: attention has made it worse, and so has dropout.
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
        "the cosine of two texts, a convolution of width 256 that learns from these lines alone: "
        "half a minute on two cores",
        text_mini(), short_training(300, 32, 1e-3, 50)},
       {.comparison = Comparison::cosine, .pooling = Pooling::mean}},
      // Few lines are scored by hand, and without dropout learned by heart soon.
      {{kFromWeights, "3 layers of width 128: a minute or two on two cores",
        with_dropout(bert_mini()), short_training(300, 32, 5e-4, 50)}},
      {bert_base_fine_tuning(3e-5)},
  };
  return presets;
}

}  // namespace weft
