// Presets for fine-tuning image classifiers.
#pragma once

#include "weft/models/tasks/common/vit_presets.h"

namespace WEFT_API weft {

/// Returns the presets. They contain only training settings; the initial weights determine the
/// model config.
const std::vector<Preset<VitRecipe>>& vit_fine_tuning_presets();
const std::vector<Preset<SwinRecipe>>& swin_fine_tuning_presets();
/// The preset of networks from ONNX files.
const std::vector<Preset<ImageAugmentation>>& network_presets();

}  // namespace weft
