// Vision transformer presets that several tasks share.
#pragma once

#include "weft/models/data/images/image_augment.h"
#include "weft/models/families/vit_config.h"
#include "weft/models/training/preset.h"

namespace WEFT_API weft {

/// A model config and the augmentation of the training images.
struct VitRecipe {
  VitConfig model = {};
  ImageAugmentation augmentation = {};
};

/// Returns the presets for training classifiers: digits, mnist and images. The data determine the
/// classes.
const std::vector<Preset<VitRecipe>>& vit_presets();

}  // namespace weft
