// Models that answer questions by name.
#pragma once

#include "weft/models/families/encoder_config.h"
#include "weft/models/train/preset.h"

namespace WEFT_API weft {

/// The config counts where no trained weights do.
const std::vector<Preset<EncoderConfig>>& span_answerer_presets();

}  // namespace weft
