// Vision transformers that are pre-trained on images without labels, by name.
#pragma once

#include "weft/models/data/image_augment.h"
#include "weft/models/data/patch_mask.h"
#include "weft/models/families/vit_config.h"
#include "weft/models/train/preset.h"

namespace weft {

/// A model, what happens to its training images, and what of them is hidden.
struct VitPretrainingRecipe {
  VitConfig model;
  ImageAugmentation augmentation;
  PatchMasking masking;
};

/// The models of classifiers under the same names, pre-trained without labels.
const std::vector<Preset<VitPretrainingRecipe>>& vit_pretraining_presets();

}  // namespace weft
