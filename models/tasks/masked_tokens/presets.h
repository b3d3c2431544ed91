// Encoders that are pre-trained, by name.
#pragma once

#include "weft/models/families/encoder_config.h"
#include "weft/models/train/preset.h"

namespace WEFT_API weft {

/// Masked-LM pre-training: bert-mini, bert-base. The vocabulary is set by the text.
const std::vector<Preset<EncoderConfig>>& encoder_presets();

}  // namespace weft
