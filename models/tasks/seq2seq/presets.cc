#include "weft/models/tasks/seq2seq/presets.h"

#include <cmath>

namespace weft {
namespace {

/// A small Transformer (Vaswani et al. 2017) with inner = 4 * width. Matrices are initialised with
/// a standard deviation of 1 / sqrt(width), as required by models of this width. The model is
/// pre-norm, so it trains without the long warm-up that the post-norm order in the paper needs.
EncoderDecoderConfig transformer(std::int64_t layers, std::int64_t width, std::int64_t heads) {
  EncoderDecoderConfig c;
  c.encoder_layers = c.decoder_layers = layers;
  c.width = width;
  c.encoder_heads = c.decoder_heads = heads;
  c.encoder_inner = c.decoder_inner = 4 * width;
  c.norm = Seq2SeqNorm::pre_norm;
  c.initializer_range = 1 / std::sqrt(static_cast<double>(width));
  return c;
}

EncoderDecoderConfig translation(std::int64_t vocab, double dropout) {
  EncoderDecoderConfig c = transformer(2, 128, 4);
  c.vocab = vocab;
  c.dropout = dropout;
  c.label_smoothing = 0.1;
  return c;
}

EncoderDecoderConfig reversal() {
  EncoderDecoderConfig c = transformer(2, 64, 4);
  c.dropout = 0;
  return c;
}

/// Returns settings with the Adam betas (0.9, 0.98) and the schedule from the paper.
TrainSettings recipe(std::int64_t steps, std::int64_t batch, double lr, std::int64_t warmup) {
  return {.steps = steps,
          .batch = batch,
          .lr = lr,
          .min_lr = 0,
          .schedule = LearningRate::inverse_sqrt,
          .warmup = warmup,
          .beta2 = 0.98,
          .weight_decay = 0.0,
          .validation_fraction = 0.04,
          .eval_every = steps / 10,
          .eval_batches = 0,
          .save_every = steps / 5};
}

/// The learning rate decays to 0 so that the final model reverses every string correctly.
TrainSettings reversal_training() {
  TrainSettings settings = recipe(2500, 2048, 2e-3, 200);
  settings.schedule = LearningRate::cosine;
  return settings;
}

/// Reduces a family's config to a size that AdamW can train in minutes. Matrices and token
/// embeddings are initialised as in transformer(), and the model is pre-norm.
EncoderDecoderConfig small(EncoderDecoderConfig c) {
  c.encoder_layers = c.decoder_layers = 3;
  c.width = 128;
  c.encoder_heads = c.decoder_heads = 4;
  c.head_size = 0;
  c.encoder_inner = c.decoder_inner = 512;
  c.context = 512;
  c.norm = Seq2SeqNorm::pre_norm;
  c.initializer_range = 1 / std::sqrt(static_cast<double>(c.width));
  return c;
}

/// A small T5 1.1: gated, without dropout in pre-training. Parameters are initialised as in the
/// paper: token embeddings have a standard deviation of 1, and the head scales them down. This
/// initialisation is designed for Adafactor.
EncoderDecoderConfig t5_mini() {
  EncoderDecoderConfig c = small(EncoderDecoderConfig::t5());
  c.activation = Activation::gelu_tanh;
  c.gated = true;
  c.initializer_range = EncoderDecoderConfig::t5().initializer_range;
  c.dropout = c.attention_dropout = c.activation_dropout = c.final_dropout = 0;
  return c;
}

/// Adafactor scales its steps by the magnitude of the parameters. With AdamW, these token
/// embeddings hardly change. If they are initialised smaller to suit AdamW, the span-corruption
/// perplexity is a third higher after 800 steps (docs/seq2seq.md).
TrainSettings t5_training() {
  TrainSettings settings = recipe(2000, 4096, 0.03, 200);
  settings.optimizer = Optimizer::adafactor;
  return settings;
}

}  // namespace

const std::vector<Preset<EncoderDecoderConfig>>& translator_presets() {
  static const std::vector<Preset<EncoderDecoderConfig>> presets = {
      {"eng-swe", "English to Swedish, trained on 25,000 pairs", translation(4000, 0.2),
       recipe(1500, 2048, 3e-3, 200)},
      {"eng-swe-short", "same as eng-swe, but with 600 instead of 1,500 steps",
       translation(4000, 0.2), recipe(600, 2048, 3e-3, 200)},
      {"eng-fra", "English to French, trained on 5,000 short pairs", translation(1500, 0.3),
       recipe(500, 2048, 3e-3, 200)},
      {"reversal", "reverses strings of 1 to 20 letters", reversal(), reversal_training()},
  };
  return presets;
}

const std::vector<Preset<EncoderDecoderConfig>>& denoising_presets() {
  static const std::vector<Preset<EncoderDecoderConfig>> presets = {
      {"t5-mini", "T5 1.1 with 3 encoder and 3 decoder layers, width 128", t5_mini(),
       t5_training()},
      {"bart-mini", "BART (norms as in mBART) with 3 encoder and 3 decoder layers, width 128",
       small(EncoderDecoderConfig::bart()), recipe(2000, 4096, 3e-3, 200)},
  };
  return presets;
}

const std::string& default_preset(DenoisingObjective objective) {
  const bool t5 =
      objective == DenoisingObjective::span_corruption || objective == DenoisingObjective::ul2;
  return denoising_presets()[t5 ? 0 : 1].name;
}

const std::vector<Preset<EncoderDecoderConfig>>& translator_fine_tuning_presets() {
  static const std::vector<Preset<EncoderDecoderConfig>> presets = {
      {"fine-tune", "for fine-tuning with --from, which determines the model",
       EncoderDecoderConfig{}, recipe(600, 2048, 1e-3, 100)},
  };
  return presets;
}

}  // namespace weft
