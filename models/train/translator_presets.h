// Translators by name.
#pragma once

#include "weft/models/families/encoder_decoder_config.h"
#include "weft/models/train/preset.h"

namespace weft {

/// eng-swe, eng-swe-short, eng-fra, reversal. The vocabulary is the most pieces that are learnt
/// from the texts; reversal reads characters. TrainSettings::batch counts tokens on one side of a
/// batch, padding included; validation_fraction is the share of different sources that validates,
/// and of those that test.
const std::vector<Preset<EncoderDecoderConfig>>& translator_presets();

}  // namespace weft
