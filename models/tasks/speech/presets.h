// Presets of weft train speech.
#pragma once

#include <vector>

#include "weft/models/families/encoder_decoder_config.h"
#include "weft/models/training/preset.h"

namespace WEFT_API weft {

/// Presets for new models.
const std::vector<Preset<EncoderDecoderConfig>>& speech_presets();
/// Presets for models that start from the weights of another model.
const std::vector<Preset<EncoderDecoderConfig>>& speech_fine_tuning_presets();

}  // namespace weft
