// Models of similarity by name.
#pragma once

#include "weft/models/families/encoder_config.h"
#include "weft/models/train/preset.h"

namespace weft {

/// Training from nothing, or fine-tuning; the config counts where no trained weights do.
const std::vector<Preset<EncoderConfig>>& text_similarity_presets();

}  // namespace weft
