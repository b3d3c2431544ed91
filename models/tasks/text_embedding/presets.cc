#include "weft/models/tasks/text_embedding/presets.h"

#include "weft/models/tasks/common/encoder_presets.h"

namespace weft {

const std::vector<EmbeddingPreset>& text_embedding_presets() {
  static const std::vector<EmbeddingPreset> presets = {
      {{kFromTexts,
        "mean over token embeddings with a convolution, width 256, trained from scratch: minutes "
        "on two cores",
        wide_convolution_mini(), short_training(600, 256, 2e-3, 0)}},
      {{kFromWeights, "3 layers, width 128; trains in a few minutes on two cores",
        with_dropout(bert_mini()), short_training(600, 64, 5e-4, 100)}},
      {bert_base_fine_tuning(2e-5)},
  };
  return presets;
}

}  // namespace weft
