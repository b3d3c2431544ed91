// MPNet: BERT's layers with relative positions that all layers share, and RoBERTa's positions.
#include "weft/models/hf/encoders/encoder_keys.h"

namespace weft::hf {

ModelTypes mpnet_model_types() {
  return encoder_model_types(
      {{.name = "mpnet",
        .prefix = "MPNet",
        .defaults = {.vocab = 30527,
                     .token_types = 0,
                     .padding_id = 1,
                     .positions = EncoderPositions::relative_bias,
                     .positions_skip_padding = true,
                     .head_activation = "gelu_erf",
                     .hidden_dropout = 0.1,
                     .attention_dropout = 0.1},
        .style = {.base = "mpnet",
                  .encoder = {{"relative_bias", "encoder.relative_attention_bias"}},
                  .layer = "encoder.layer.{}",
                  .layer_modules = {{"attention.query", "attention.attn.q"},
                                    {"attention.key", "attention.attn.k"},
                                    {"attention.value", "attention.attn.v"},
                                    {"attention.out", "attention.attn.o"},
                                    {"attention_norm", "attention.LayerNorm"},
                                    {"feed_forward.up", "intermediate.dense"},
                                    {"feed_forward.down", "output.dense"},
                                    {"feed_forward_norm", "output.LayerNorm"}},
                  .heads = {{"masked_lm.dense", "lm_head.dense"},
                            {"masked_lm.norm", "lm_head.layer_norm"},
                            {"masked_lm.bias", "lm_head.bias"},
                            {"masked_lm.decoder", "lm_head.decoder"}},
                  .sequence_classifier = "classifier.out_proj",
                  .pooler = {"pooler.dense", Activation::tanh},
                  .classifier_dense = {"classifier.dense", Activation::tanh},
                  .takes_token_types = false},
        .keys = [](auto& config, EncoderConfig& c, EncoderStyle& style) {
          encoder_keys(config, c, {.token_types = false, .padding = false});
          config
              .fixed("pad_token_id", 1,
                     "the code of MPNet counts positions with the padding id 1 in any case")
              .fixed("relative_attention_num_buckets", 32,
                     "the code of MPNet uses 32 buckets in any case")
              .field("tie_word_embeddings", c.tied_head);
          style.masked_lm.layer_norm_eps = c.layer_norm_eps;
        }}});
}

}  // namespace weft::hf
