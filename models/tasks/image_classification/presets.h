// Presets for fine-tuning image classifiers.
#pragma once

#include "weft/models/tasks/common/vit_presets.h"

namespace WEFT_API weft {

/// Returns the presets. They contain training settings; the config of the model is that of the
/// weights to start from.
const std::vector<Preset<VitRecipe>>& vit_fine_tuning_presets();

}  // namespace weft
