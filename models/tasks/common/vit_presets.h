// Presets of image models that several tasks share.
#pragma once

#include "weft/models/data/images/image_augment.h"
#include "weft/models/families/swin_config.h"
#include "weft/models/families/vit_config.h"
#include "weft/models/training/preset.h"

namespace WEFT_API weft {

/// A model config and the augmentation of the training images.
template <class Config>
struct ImageRecipe {
  Config model = {};
  ImageAugmentation augmentation = {};
};
using VitRecipe = ImageRecipe<VitConfig>;
using SwinRecipe = ImageRecipe<SwinConfig>;

/// Returns the presets for training classifiers: digits, mnist and images. The data determine the
/// classes.
const std::vector<Preset<VitRecipe>>& vit_presets();
/// Returns the presets for training Swin classifiers, with the same names and training settings.
const std::vector<Preset<SwinRecipe>>& swin_presets();

}  // namespace weft
