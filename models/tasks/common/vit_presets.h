// Vision transformers by name, which several tasks share.
#pragma once

#include "weft/models/data/image_augment.h"
#include "weft/models/families/vit_config.h"
#include "weft/models/train/preset.h"

namespace WEFT_API weft {

/// A model and what happens to its training images.
struct VitRecipe {
  VitConfig model = {};
  ImageAugmentation augmentation = {};
};

/// digits, mnist, images: as classifiers learn them. The classes are set by the data.
const std::vector<Preset<VitRecipe>>& vit_presets();

}  // namespace weft
