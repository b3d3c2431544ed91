// Presets for question answering.
#pragma once

#include "weft/models/families/encoder_config.h"
#include "weft/models/training/preset.h"

namespace WEFT_API weft {

/// Returns the presets. Their configs are used only if there are no initial weights.
const std::vector<Preset<EncoderConfig>>& span_answerer_presets();

}  // namespace weft
