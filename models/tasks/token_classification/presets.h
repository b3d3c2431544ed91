// Presets for word tagging.
#pragma once

#include "weft/models/families/encoder_config.h"
#include "weft/models/training/preset.h"

namespace WEFT_API weft {

/// Returns the presets. The first is for taggers that are trained from scratch. The configs of the
/// others are used only if there are no initial weights.
const std::vector<Preset<EncoderConfig>>& token_classifier_presets();

}  // namespace weft
