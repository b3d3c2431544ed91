// Presets for pre-training vision transformers without labels.
#pragma once

#include "weft/models/data/corruption/patch_mask.h"
#include "weft/models/tasks/common/vit_presets.h"

namespace WEFT_API weft {

/// A model config, the augmentation of the training images, and the masking.
struct VitPretrainingRecipe : VitRecipe {
  PatchMasking masking;
};

/// Returns the presets. They have the same names and model configs as vit_presets().
const std::vector<Preset<VitPretrainingRecipe>>& vit_pretraining_presets();

}  // namespace weft
