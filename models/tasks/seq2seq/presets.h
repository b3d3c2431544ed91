// Translators by name.
#pragma once

#include <string>
#include <vector>

#include "weft/models/data/denoiser.h"
#include "weft/models/families/encoder_decoder_config.h"
#include "weft/models/train/preset.h"

namespace WEFT_API weft {

/// eng-swe, eng-swe-short, eng-fra, reversal. The vocabulary is the most pieces that are learnt
/// from the texts; reversal reads characters. TrainSettings::batch counts tokens on one side of a
/// batch, padding included; validation_fraction is the share of different sources that validates,
/// and of those that test.
const std::vector<Preset<EncoderDecoderConfig>>& translator_presets();

/// Models that are pre-trained: t5-mini, bart-mini. TrainSettings::batch counts tokens of passages.
const std::vector<Preset<EncoderDecoderConfig>>& denoising_presets();
/// The one that is made like the models of an objective's paper.
const std::string& default_preset(DenoisingObjective objective);

/// How a translator that starts from trained weights learns; the model is that of the weights.
const std::vector<Preset<EncoderDecoderConfig>>& translator_fine_tuning_presets();

}  // namespace weft
