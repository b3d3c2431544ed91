#include "weft/models/tasks/common/encoder_presets.h"

namespace weft {

EncoderConfig bert_mini() {
  EncoderConfig config;
  config.vocab = 4000;
  config.context = 64;
  config.token_types = 0;
  config.layers = 3;
  config.heads = 4;
  config.width = 128;
  config.inner = 512;
  // Dropout is off, because so few steps are not enough for the model to memorise the texts. The
  // standard deviation is about half of 1 / sqrt(width); BERT's 0.02 suits wider models.
  config.initializer_range = 0.05;
  return config;
}

EncoderConfig modernbert_mini() {
  const EncoderConfig mini = bert_mini();
  EncoderConfig config = EncoderConfig::modernbert();
  config.vocab = mini.vocab;
  config.padding_id = mini.padding_id;
  config.context = 512;
  config.layers = mini.layers;
  config.heads = mini.heads;
  config.width = mini.width;
  config.inner = 192;
  config.window = 32;
  config.initializer_range = mini.initializer_range;
  return config;
}

EncoderConfig bert_base() { return with_dropout({}); }

EncoderConfig with_dropout(EncoderConfig config) {
  config.hidden_dropout = config.attention_dropout = 0.1;
  return config;
}

EncoderConfig convolution_mini() {
  EncoderConfig config = bert_mini();
  config.layers = 0;
  config.inner = 128;
  config.norm_first = true;
  config.positions = EncoderPositions::none;
  config.conv_activation = Activation::gelu_erf;
  return config;
}

EncoderConfig wide_convolution_mini() {
  EncoderConfig config = convolution_mini();
  config.width = 256;
  config.conv_kernel = 3;
  config.conv_groups = 4;
  return config;
}

std::string default_encoder_preset(bool from_weights) {
  return from_weights ? kFromWeights : kFromTexts;
}

TrainSettings encoder_training(TrainSettings settings) {
  settings.min_lr = 0;
  settings.schedule = LearningRate::linear;
  settings.weight_decay = 0.01;
  return settings;
}

TrainSettings short_training(std::int64_t steps, std::int64_t batch, double lr,
                             std::int64_t eval_every) {
  return encoder_training({.steps = steps,
                           .batch = batch,
                           .lr = lr,
                           .warmup = steps / 10,
                           .beta2 = 0.98,
                           .eval_every = eval_every,
                           .eval_batches = 0,
                           .save_every = 0});
}

Preset<EncoderConfig> bert_base_fine_tuning(double lr) {
  TrainSettings training = short_training(1000, 32, lr, 200);
  training.beta2 = 0.999;
  training.save_every = 200;
  return {"bert-base", "BERT-base, fine-tuned as in the BERT paper", bert_base(), training};
}

}  // namespace weft
