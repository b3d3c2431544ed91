// Classifiers of images by name.
#pragma once

#include "weft/models/data/image_augment.h"
#include "weft/models/families/vit_config.h"
#include "weft/models/train/preset.h"

namespace weft {

/// A model and what happens to its training images.
struct VitRecipe {
  VitConfig model;
  ImageAugmentation augmentation;
};

/// digits, mnist, images. The classes are set by the data.
const std::vector<Preset<VitRecipe>>& vit_presets();

/// How a classifier that starts from trained weights learns; the model is that of the weights.
const std::vector<Preset<VitRecipe>>& vit_fine_tuning_presets();

}  // namespace weft
