// Presets for tagging words.
#pragma once

#include "weft/models/families/encoder_config.h"
#include "weft/models/train/preset.h"

namespace WEFT_API weft {

/// Returns the presets. The first is for taggers that are trained from scratch. The configs of the
/// others are used only without weights to start from.
const std::vector<Preset<EncoderConfig>>& token_classifier_presets();

}  // namespace weft
