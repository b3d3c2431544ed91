// Presets for pre-training vision transformers without labels.
#pragma once

#include "weft/models/data/corruption/patch_mask.h"
#include "weft/models/tasks/common/vit_presets.h"

namespace WEFT_API weft {

/// A model config, the augmentation of the training images, and the masking.
struct VitPretrainingRecipe : VitRecipe {
  PatchMasking masking;
};

/// Returns the config for pre-training with an objective: for MAE, a model with fixed positions and
/// a class token, and a decoder of half the depth and half the width.
VitConfig pretraining_config(VitConfig config, MaskedImageObjective objective);

/// Returns the presets. They have the same names and model configs as vit_presets().
const std::vector<Preset<VitPretrainingRecipe>>& vit_pretraining_presets();

}  // namespace weft
