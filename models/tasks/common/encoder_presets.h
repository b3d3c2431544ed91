// Encoder sizes and training settings that the presets of several tasks share.
#pragma once

#include <string>

#include "weft/models/families/encoder_config.h"
#include "weft/models/training/preset.h"

namespace WEFT_API weft {

/// Returns the config of a small encoder with 3 layers and width 128.
EncoderConfig bert_mini();
/// Returns the config of BERT-base, including its dropout rates.
EncoderConfig bert_base();
/// Returns the config of ModernBERT with the sizes of bert_mini(), a context of 512 tokens and a
/// window of 32.
EncoderConfig modernbert_mini();
/// Returns `config` with a dropout rate of 0.1 for hidden states and attention.
EncoderConfig with_dropout(EncoderConfig config);
/// Returns the config of a convolution over a few tokens, without attention and position
/// embeddings. There is no norm after the embeddings, so that uninformative words keep small
/// activations. The model is nearly linear at the start of training and is unlikely to memorise a
/// small training set.
EncoderConfig convolution_mini();
/// Returns convolution_mini() with width 256, for models that represent a text by the mean of its
/// token vectors. The mean of random word vectors already shows which texts share words; training
/// determines which words matter and which are related.
EncoderConfig wide_convolution_mini();

/// Names of two presets: the first for models trained from scratch, the second for models
/// initialised from weights that do not belong to a preset.
inline constexpr const char *kFromTexts = "text-mini", *kFromWeights = "bert-mini";
/// Returns the default preset for tasks that have both presets.
std::string default_encoder_preset(bool from_weights);

/// Returns `settings` with the values that are common to all encoders: linear learning-rate decay
/// to 0, and a weight decay of 0.01.
TrainSettings encoder_training(TrainSettings settings);
/// Returns settings for a training run of `steps` steps with new or mostly new weights. Warm-up
/// takes a tenth of the steps, and every evaluation covers the whole held-out set.
TrainSettings short_training(std::int64_t steps, std::int64_t batch, double lr,
                             std::int64_t eval_every);
/// Returns the preset for fine-tuning BERT-base as in the paper, with the learning rate `lr`.
Preset<EncoderConfig> bert_base_fine_tuning(double lr);

}  // namespace weft
