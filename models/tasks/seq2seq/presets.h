// Presets for encoder-decoders.
#pragma once

#include <string>
#include <vector>

#include "weft/models/data/denoiser.h"
#include "weft/models/families/encoder_decoder_config.h"
#include "weft/models/train/preset.h"

namespace WEFT_API weft {

/// eng-swe, eng-swe-short, eng-fra, reversal. The vocabulary is the maximum number of pieces
/// learned from the texts; reversal uses characters. TrainSettings::batch is the number of tokens
/// on one side of a batch, padding included. validation_fraction is the share of distinct sources
/// for validation, and the same share for testing.
const std::vector<Preset<EncoderDecoderConfig>>& translator_presets();

/// Presets for pre-training: t5-mini, bart-mini. TrainSettings::batch is the number of tokens of
/// the passages.
const std::vector<Preset<EncoderDecoderConfig>>& denoising_presets();
/// The preset that is modelled on the paper of an objective.
const std::string& default_preset(DenoisingObjective objective);

/// Training settings for translators that start from trained weights, which determine the model.
const std::vector<Preset<EncoderDecoderConfig>>& translator_fine_tuning_presets();

}  // namespace weft
