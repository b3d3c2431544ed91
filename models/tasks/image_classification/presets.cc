#include "weft/models/tasks/image_classification/presets.h"

namespace weft {

const std::vector<Preset<VitRecipe>>& vit_fine_tuning_presets() {
  static const std::vector<Preset<VitRecipe>> presets = {
      {"fine-tune",
       "for fine-tuning with --from: low learning rate, moderate crops",
       {VitConfig{}, {.min_area = 0.5, .flip = true}},
       {.steps = 1000,
        .batch = 32,
        .lr = 1e-4,
        .min_lr = 1e-6,
        .warmup = 50,
        .beta2 = 0.999,
        .weight_decay = 0.01,
        .eval_every = 100,
        .eval_batches = 10,
        .save_every = 250}},
  };
  return presets;
}

}  // namespace weft
