#include "weft/models/tasks/text_similarity/presets.h"

#include "weft/models/tasks/common/encoder_presets.h"

namespace weft {

const std::vector<SimilarityPreset>& text_similarity_presets() {
  static const std::vector<SimilarityPreset> presets = {
      // A few hundred pairs with scores are not enough for larger models: attention and dropout
      // both reduced the correlation.
      {{kFromTexts,
        "cosine similarity with a convolution, width 256, trained from scratch: half a minute on "
        "two cores",
        wide_convolution_mini(), short_training(300, 32, 1e-3, 50)},
       {.comparison = Comparison::cosine, .pooling = Pooling::mean}},
      // Data sets with human scores are small, so models without dropout soon memorise them.
      {{kFromWeights, "3 layers, width 128; trains in a minute or two on two cores",
        with_dropout(bert_mini()), short_training(300, 32, 5e-4, 50)}},
      {bert_base_fine_tuning(3e-5)},
  };
  return presets;
}

}  // namespace weft
