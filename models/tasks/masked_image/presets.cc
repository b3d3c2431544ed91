#include "weft/models/tasks/masked_image/presets.h"

namespace weft {
namespace {

/// Returns the presets. Pre-training runs for twice as many steps as classifier training. The
/// preset for large images uses larger masked units, stronger crops, no dropout and a longer
/// warm-up.
std::vector<Preset<VitPretrainingRecipe>> made_presets() {
  std::vector<Preset<VitPretrainingRecipe>> presets;
  for (const Preset<VitRecipe>& of_classes : vit_presets()) {
    presets.push_back(
        {of_classes.name, of_classes.about, {of_classes.model, {}}, of_classes.training});
    presets.back().training.steps *= 2;
  }
  Preset<VitPretrainingRecipe>& images = presets.back();
  images.model.model.dropout = 0;
  images.model.augmentation.min_area = 0.67;
  images.model.masking.mask_unit = 2;
  images.training.warmup *= 2;
  return presets;
}

}  // namespace

const std::vector<Preset<VitPretrainingRecipe>>& vit_pretraining_presets() {
  static const std::vector<Preset<VitPretrainingRecipe>> presets = made_presets();
  return presets;
}

}  // namespace weft
