// Presets for training models that compare images and texts.
#pragma once

#include "weft/models/data/images/image_augment.h"
#include "weft/models/families/image_text_config.h"
#include "weft/models/training/preset.h"

namespace WEFT_API weft {

/// A model config and the augmentation of the training images.
struct ImageTextRecipe {
  ImageTextConfig model = {};
  ImageAugmentation augmentation = {};
};

/// Returns the presets: clip-mini and siglip-mini for new models, and fine-tune for training from
/// weights.
const std::vector<Preset<ImageTextRecipe>>& image_text_presets();

}  // namespace weft
