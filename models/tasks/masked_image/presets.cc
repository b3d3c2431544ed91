#include "weft/models/tasks/masked_image/presets.h"

#include "weft/models/tasks/common/vit_sizes.h"

namespace weft {

const std::vector<Preset<VitPretrainingRecipe>>& vit_pretraining_presets() {
  static const std::vector<Preset<VitPretrainingRecipe>> presets = {
      {"digits",
       "8 x 8 digits (optdigits) in patches of 2 x 2",
       {small_vit(1, 8, 2, 4, 4, 64, 0), {.shift = 0.5, .rotation = 8, .zoom = 0.08}, {}},
       {.steps = 3000,
        .batch = 64,
        .lr = 2e-3,
        .min_lr = 1e-5,
        .warmup = 100,
        .beta2 = 0.99,
        .weight_decay = 0.05,
        .eval_every = 300,
        .eval_batches = 0,
        .save_every = 600}},
      {"mnist",
       "28 x 28 digits (MNIST) in patches of 7 x 7",
       {small_vit(1, 28, 7, 4, 4, 96, 0), {.shift = 1.5, .rotation = 10, .zoom = 0.1}, {}},
       {.steps = 4000,
        .batch = 64,
        .lr = 2e-3,
        .min_lr = 1e-5,
        .warmup = 140,
        .beta2 = 0.99,
        .weight_decay = 0.05,
        .eval_every = 250,
        .eval_batches = 0,
        .save_every = 500}},
      {"images",
       "colour images (a folder per class) of 64 x 64 in patches of 8 x 8",
       {small_vit(3, 64, 8, 6, 4, 192, 0), {.min_area = 0.67, .flip = true}, {.mask_unit = 2}},
       {.steps = 10000,
        .batch = 64,
        .lr = 1e-3,
        .min_lr = 1e-5,
        .warmup = 500,
        .beta2 = 0.99,
        .weight_decay = 0.05,
        .eval_every = 250,
        .eval_batches = 10,
        .save_every = 500}},
  };
  return presets;
}

}  // namespace weft
