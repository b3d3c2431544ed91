// Vision transformer presets that several tasks share.
#pragma once

#include "weft/models/data/image_augment.h"
#include "weft/models/families/vit_config.h"
#include "weft/models/train/preset.h"

namespace WEFT_API weft {

/// A model and the augmentation of its training images.
struct VitRecipe {
  VitConfig model = {};
  ImageAugmentation augmentation = {};
};

/// digits, mnist, images: presets for training classifiers. The data determine the classes.
const std::vector<Preset<VitRecipe>>& vit_presets();

}  // namespace weft
