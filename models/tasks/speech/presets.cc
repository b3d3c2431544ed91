#include "weft/models/tasks/speech/presets.h"

#include <cmath>

namespace weft {
namespace {

/// A small Whisper for recordings of up to 10 seconds.
EncoderDecoderConfig small_whisper() {
  EncoderDecoderConfig c = EncoderDecoderConfig::whisper();
  c.encoder_layers = c.decoder_layers = 2;
  c.width = 128;
  c.encoder_heads = c.decoder_heads = 4;
  c.encoder_inner = c.decoder_inner = 512;
  c.source_context = 500;
  c.context = 128;
  c.vocab = 500;
  c.padding_id = 0;  // the tokenizer determines both ids
  c.start_id = 1;
  c.dropout = 0.1;
  c.initializer_range = 1 / std::sqrt(static_cast<double>(c.width));
  return c;
}

TrainSettings speech_training(std::int64_t steps, double lr, std::int64_t warmup) {
  return {.steps = steps,
          .batch = 8,
          .lr = lr,
          .min_lr = 0,
          .schedule = LearningRate::linear,
          .warmup = warmup,
          .beta2 = 0.98,
          .weight_decay = 0.01,
          .validation_fraction = 0.1,
          .eval_every = steps / 10,
          .eval_batches = 4,
          .save_every = steps / 5};
}

}  // namespace

const std::vector<Preset<EncoderDecoderConfig>>& speech_presets() {
  static const std::vector<Preset<EncoderDecoderConfig>> presets = {
      {"mini", "Whisper with 2 encoder and 2 decoder layers, width 128, windows of 10 seconds",
       small_whisper(), speech_training(2000, 1e-3, 200)}};
  return presets;
}

const std::vector<Preset<EncoderDecoderConfig>>& speech_fine_tuning_presets() {
  static const std::vector<Preset<EncoderDecoderConfig>> presets = {
      {"fine-tune", "for fine-tuning with --from, which determines the model",
       EncoderDecoderConfig{}, speech_training(1000, 1e-5, 100)}};
  return presets;
}

}  // namespace weft
