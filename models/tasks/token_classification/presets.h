// Taggers of words by name.
#pragma once

#include "weft/models/families/encoder_config.h"
#include "weft/models/train/preset.h"

namespace WEFT_API weft {

/// The first is for a tagger that learns from its own sentences alone; the configs of the others
/// count where no trained weights do.
const std::vector<Preset<EncoderConfig>>& token_classifier_presets();

}  // namespace weft
