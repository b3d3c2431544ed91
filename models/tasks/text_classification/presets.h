// Classifiers of texts by name.
#pragma once

#include "weft/models/families/encoder_config.h"
#include "weft/models/train/preset.h"

namespace weft {

/// Fine-tuning as a classifier: the same names; the config counts where no trained weights do.
const std::vector<Preset<EncoderConfig>>& text_classifier_presets();

}  // namespace weft
