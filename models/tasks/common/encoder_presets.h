// Sizes of encoders, and how they learn: what presets of several tasks share.
#pragma once

#include <string>

#include "weft/models/families/encoder_config.h"
#include "weft/models/train/preset.h"

namespace WEFT_API weft {

/// 3 layers of width 128.
EncoderConfig bert_mini();
/// BERT-base, with its dropout.
EncoderConfig bert_base();
EncoderConfig with_dropout(EncoderConfig config);
/// No attention and no positions, but a convolution over a few tokens, and no norm behind the
/// embeddings, so that a word that says nothing stays small: nearly linear at first, and hard to
/// teach few texts by heart.
EncoderConfig convolution_mini();

/// Presets for models that learn from nothing, and from weights that are nobody's preset.
inline constexpr const char *kFromTexts = "text-mini", *kFromWeights = "bert-mini";
/// Of tasks that have both the preset that is meant where none is named.
std::string usual_encoder_preset(bool from_weights);

/// `settings` with what all encoders learn by: a rate that falls to nothing along a line, little
/// weight decay.
TrainSettings encoder_training(TrainSettings settings);
/// So many steps from weights that are new, or nearly: they warm up for a tenth, and every
/// evaluation covers all that is held out.
TrainSettings short_training(std::int64_t steps, std::int64_t batch, double lr,
                             std::int64_t eval_every);
/// BERT-base as its paper fine-tunes it, at this rate.
Preset<EncoderConfig> bert_base_fine_tuning(double lr);

}  // namespace weft
