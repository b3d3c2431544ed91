// Presets for pre-training encoders.
#pragma once

#include "weft/models/families/encoder_config.h"
#include "weft/models/training/preset.h"

namespace WEFT_API weft {

/// Returns the presets bert-mini, bert-base, modernbert-mini and modernbert-base for pre-training
/// masked language models. The vocabulary size depends on the training text.
const std::vector<Preset<EncoderConfig>>& encoder_presets();

}  // namespace weft
