// Presets for encoder-decoders.
#pragma once

#include <string>
#include <vector>

#include "weft/models/data/corruption/denoiser.h"
#include "weft/models/families/encoder_decoder_config.h"
#include "weft/models/training/preset.h"

namespace WEFT_API weft {

/// Returns the presets eng-swe, eng-swe-short, eng-fra and reversal. The vocabulary size is the
/// maximum number of pieces learned from the texts; reversal uses characters. TrainSettings::batch
/// is the number of tokens on one side of a batch, including padding. validation_fraction is the
/// fraction of distinct sources that is held out for validation; the same fraction is held out for
/// testing.
const std::vector<Preset<EncoderDecoderConfig>>& translator_presets();

/// Returns the presets for pre-training: t5-mini and bart-mini. TrainSettings::batch is the number
/// of tokens in the passages.
const std::vector<Preset<EncoderDecoderConfig>>& denoising_presets();
/// Returns the name of the preset that is based on the paper that introduced an objective.
const std::string& default_preset(DenoisingObjective objective);

/// Returns training settings for translators that are initialised from trained weights. The weights
/// determine the model.
const std::vector<Preset<EncoderDecoderConfig>>& translator_fine_tuning_presets();

}  // namespace weft
