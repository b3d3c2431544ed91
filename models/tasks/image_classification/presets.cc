#include "weft/models/tasks/image_classification/presets.h"

namespace weft {

namespace {

const ImageAugmentation kCrops{.min_area = 0.5, .flip = true};

/// Returns the presets for fine-tuning with a recipe for the model and its images.
template <class Recipe>
std::vector<Preset<Recipe>> fine_tuning_of(const Recipe& recipe) {
  return {
      {"fine-tune",
       "for fine-tuning with --from: low learning rate, moderate crops",
       recipe,
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
}

}  // namespace

const std::vector<Preset<VitRecipe>>& vit_fine_tuning_presets() {
  static const auto presets = fine_tuning_of(VitRecipe{{}, kCrops});
  return presets;
}

const std::vector<Preset<SwinRecipe>>& swin_fine_tuning_presets() {
  static const auto presets = fine_tuning_of(SwinRecipe{{}, kCrops});
  return presets;
}

const std::vector<Preset<ImageAugmentation>>& network_presets() {
  static const auto presets = fine_tuning_of(kCrops);
  return presets;
}

}  // namespace weft
