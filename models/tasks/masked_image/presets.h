// Vision transformers that are pre-trained on images without labels, by name.
#pragma once

#include "weft/models/data/patch_mask.h"
#include "weft/models/tasks/common/vit_presets.h"

namespace WEFT_API weft {

/// A model, what happens to its training images, and what of them is hidden.
struct VitPretrainingRecipe : VitRecipe {
  PatchMasking masking;
};

/// The models of vit_presets() under the same names, pre-trained without labels.
const std::vector<Preset<VitPretrainingRecipe>>& vit_pretraining_presets();

}  // namespace weft
