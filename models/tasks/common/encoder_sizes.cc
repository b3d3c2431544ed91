#include "weft/models/tasks/common/encoder_sizes.h"

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
  // No dropout: so few steps do not learn the texts by heart.
  // About half of 1 / sqrt(width): BERT's 0.02 is made for wide models.
  config.initializer_range = 0.05;
  return config;
}

EncoderConfig bert_base() {
  EncoderConfig config;
  config.hidden_dropout = config.attention_dropout = 0.1;
  return config;
}

}  // namespace weft
