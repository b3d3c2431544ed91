// ALBERT: a BERT variant with factorised embeddings, shared layer weights and sentence-order
// prediction.
#include "weft/models/hf/encoders/encoder_keys.h"

namespace weft::hf {

ModelTypes albert_model_types() {
  return encoder_model_types(
      {{.name = "albert",
        .prefix = "Albert",
        .defaults = {.vocab = 30000,
                     .heads = 64,
                     .width = 4096,
                     .inner = 16384,
                     .embedding_width = 128,
                     .embedding_projection = EmbeddingProjection::after_norm,
                     .activation = Activation::gelu_tanh,
                     .layer_groups = 1},
        .style = {.base = "albert",
                  .encoder = {{"embeddings.projection", "encoder.embedding_hidden_mapping_in"}},
                  .layer = "encoder.albert_layer_groups.{}.albert_layers.{}",
                  .layer_modules = {{"attention.query", "attention.query"},
                                    {"attention.key", "attention.key"},
                                    {"attention.value", "attention.value"},
                                    {"attention.distances", "attention.distance_embedding"},
                                    {"attention.out", "attention.dense"},
                                    {"attention_norm", "attention.LayerNorm"},
                                    {"feed_forward.up", "ffn"},
                                    {"feed_forward.down", "ffn_output"},
                                    {"feed_forward_norm", "full_layer_layer_norm"}},
                  .heads = {{"masked_lm.dense", "predictions.dense"},
                            {"masked_lm.norm", "predictions.LayerNorm"},
                            {"masked_lm.bias", "predictions.bias"},
                            {"masked_lm.decoder", "predictions.decoder"},
                            {"sentence_pair", "sop_classifier.classifier"}},
                  .pooler = {"pooler", Activation::tanh},
                  .pair_logits = "sop_logits",
                  .pair_labels = "sentence_order_label",
                  .configured_pairs = true},
        .keys = [](auto& config, EncoderConfig& c, EncoderStyle& style) {
          encoder_keys(config, c);
          position_key(config, c);
          config.field("embedding_size", c.embedding_width)
              .field("num_hidden_groups", c.layer_groups)
              .field("inner_group_num", c.group_layers)
              .field("tie_word_embeddings", c.tied_head)
              .ignore({"down_scale_factor", "gap_size", "net_structure_type", "num_memory_blocks"});
          style.masked_lm.activation = c.activation;
          style.masked_lm.layer_norm_eps = c.layer_norm_eps;
        }}});
}

}  // namespace weft::hf
