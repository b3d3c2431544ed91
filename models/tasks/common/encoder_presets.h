// Encoder sizes and training settings that the presets of several tasks share.
#pragma once

#include <string>

#include "weft/models/families/encoder_config.h"
#include "weft/models/train/preset.h"

namespace WEFT_API weft {

/// 3 layers, width 128.
EncoderConfig bert_mini();
/// BERT-base, with its dropout.
EncoderConfig bert_base();
/// `config` with a dropout rate of 0.1 for hidden states and attention.
EncoderConfig with_dropout(EncoderConfig config);
/// A convolution over a few tokens, without attention and position embeddings. There is no norm
/// after the embeddings, so that uninformative words keep small activations. The model is nearly
/// linear at the start of training and unlikely to memorise a small training set.
EncoderConfig convolution_mini();

/// Names of two presets: one for models trained from scratch, and one for models that start from
/// weights that belong to no preset.
inline constexpr const char *kFromTexts = "text-mini", *kFromWeights = "bert-mini";
/// Returns the default preset of tasks that have both of these.
std::string default_encoder_preset(bool from_weights);

/// Returns `settings` with the values that all encoders share: a learning rate that decays linearly
/// to 0, and a weight decay of 0.01.
TrainSettings encoder_training(TrainSettings settings);
/// Settings for a training run of `steps` steps from new or nearly new weights. Warmup takes a
/// tenth of the steps, and every evaluation covers the whole held-out set.
TrainSettings short_training(std::int64_t steps, std::int64_t batch, double lr,
                             std::int64_t eval_every);
/// BERT-base, fine-tuned as in its paper, at the learning rate `lr`.
Preset<EncoderConfig> bert_base_fine_tuning(double lr);

}  // namespace weft
