// Presets for pre-training vision transformers without labels.
#pragma once

#include "weft/models/data/patch_mask.h"
#include "weft/models/tasks/common/vit_presets.h"

namespace WEFT_API weft {

/// A model, the augmentation of its training images, and their masking.
struct VitPretrainingRecipe : VitRecipe {
  PatchMasking masking;
};

/// Returns the presets, with the models and names of vit_presets().
const std::vector<Preset<VitPretrainingRecipe>>& vit_pretraining_presets();

}  // namespace weft
