// ALBERT: a BERT variant with factorised embeddings, shared layer weights and sentence-order
// prediction.
#include <fmt/format.h>

#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"
#include "weft/models/hf/encoder_keys.h"

namespace weft::hf {
namespace {

template <class Config>
void albert_keys(Config& config, EncoderConfig& c, EncoderStyle& style) {
  encoder_keys(config, c);
  position_key(config, c);
  config.field("embedding_size", c.embedding_width)
      .field("num_hidden_groups", c.layer_groups)
      .field("inner_group_num", c.group_layers)
      .field("tie_word_embeddings", style.masked_lm.tied)
      .ignore({"classifier_dropout_prob", "down_scale_factor", "gap_size", "net_structure_type",
               "num_memory_blocks"});
}

}  // namespace

Model build_albert(Request& request) {
  EncoderConfig c;
  c.vocab = 30000;
  c.embedding_width = 128;
  c.embedding_projection = EmbeddingProjection::after_norm;
  c.width = 4096;
  c.heads = 64;
  c.inner = 16384;
  c.layer_groups = 1;
  c.activation = Activation::gelu_tanh;
  EncoderStyle style{.base = "albert"};
  albert_keys(request.config, c, style);
  style.encoder = {{"embeddings.tokens", "embeddings.word_embeddings"},
                   {"embeddings.positions", "embeddings.position_embeddings"},
                   {"embeddings.token_types", "embeddings.token_type_embeddings"},
                   {"embeddings.norm", "embeddings.LayerNorm"},
                   {"embeddings.projection", "encoder.embedding_hidden_mapping_in"}};
  // Check both factors before computing their product, which could overflow otherwise.
  check::at_most({{"layer_groups", c.layer_groups, size_limits::kLayers},
                  {"group_layers", c.group_layers, size_limits::kLayers}});
  add_layers(style.encoder, c.distinct_layers(),
             [&](std::int64_t i) {
               return fmt::format("encoder.albert_layer_groups.{}.albert_layers.{}",
                                  i / c.group_layers, i % c.group_layers);
             },
             {{"attention.query", "attention.query"},
              {"attention.key", "attention.key"},
              {"attention.value", "attention.value"},
              {"attention.distances", "attention.distance_embedding"},
              {"attention.out", "attention.dense"},
              {"attention_norm", "attention.LayerNorm"},
              {"feed_forward.up", "ffn"},
              {"feed_forward.down", "ffn_output"},
              {"feed_forward_norm", "full_layer_layer_norm"}});
  style.heads = {
      {"masked_lm.dense", "predictions.dense"},       {"masked_lm.norm", "predictions.LayerNorm"},
      {"masked_lm.bias", "predictions.bias"},         {"masked_lm.decoder", "predictions.decoder"},
      {"sentence_pair", "sop_classifier.classifier"}, {"span", "qa_outputs"}};
  style.pooler = {"pooler", Activation::tanh};
  style.masked_lm.activation = c.activation;
  style.masked_lm.layer_norm_eps = c.layer_norm_eps;
  style.pair_logits = "sop_logits";
  style.pair_labels = "sentence_order_label";
  style.pair_classes = request.config.labels();
  return build_encoder(request, c, style);
}

void write_albert(ConfigWriter& config, const std::string&, const FamilyConfig& family,
                  const HeadFacts& heads) {
  write_encoder(config, family, heads, [](auto&... parts) { albert_keys(parts...); });
}

}  // namespace weft::hf
