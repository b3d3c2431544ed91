#include "weft/models/tasks/text_similarity/presets.h"

#include "weft/models/tasks/common/encoder_presets.h"

namespace weft {

const std::vector<Preset<EncoderConfig>>& text_similarity_presets() {
  static const std::vector<Preset<EncoderConfig>> presets = {
      // Few lines are scored by hand, and without dropout learned by heart soon.
      {"bert-mini", "3 layers of width 128: a minute or two on two cores",
       with_dropout(bert_mini()), short_training(300, 32, 5e-4, 50)},
      bert_base_fine_tuning(3e-5),
  };
  return presets;
}

}  // namespace weft
