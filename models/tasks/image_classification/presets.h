// Classifiers of images that start from trained weights, by name.
#pragma once

#include "weft/models/tasks/common/vit_presets.h"

namespace WEFT_API weft {

/// How they learn; the model is that of the weights.
const std::vector<Preset<VitRecipe>>& vit_fine_tuning_presets();

}  // namespace weft
