#include "weft/models/tasks/masked_image/presets.h"

#include <algorithm>
#include <numeric>

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

VitConfig pretraining_config(VitConfig config, MaskedImageObjective objective) {
  if (objective == MaskedImageObjective::simmim) return config;
  config.positions = VitPositions::fixed;
  config.pooling = VitPooling::class_token;
  config.decoder_layers = std::max<std::int64_t>(1, config.layers / 2);
  config.decoder_heads = config.heads;
  // Whole heads, and a multiple of 4 for the sines and cosines.
  const std::int64_t unit = std::lcm(config.heads, std::int64_t{4});
  config.decoder_width = (config.width / 2 + unit - 1) / unit * unit;
  config.decoder_inner = 4 * config.decoder_width;
  return config;
}

const std::vector<Preset<VitPretrainingRecipe>>& vit_pretraining_presets() {
  static const std::vector<Preset<VitPretrainingRecipe>> presets = made_presets();
  return presets;
}

}  // namespace weft
