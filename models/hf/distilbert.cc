// DistilBERT: BERT without token types and without a pooler, with different parameter names.
#include <fmt/format.h>

#include "weft/models/hf/encoder_keys.h"

namespace weft::hf {
namespace {

template <class Config>
void distilbert_keys(Config& config, EncoderConfig& c, EncoderStyle& style) {
  config.field("vocab_size", c.vocab)
      .field("max_position_embeddings", c.context)
      // The file always contains the position table. A sinusoidal table is not trained.
      .converted(
          "sinusoidal_pos_embds",
          [&](const json& value) {
            bool sinusoidal = false;
            read_json(value, "sinusoidal_pos_embds", sinusoidal);
            c.trainable_positions = !sinusoidal;
          },
          [&]() -> json { return !c.trainable_positions; })
      .field("n_layers", c.layers)
      .field("n_heads", c.heads)
      .field("dim", c.width)
      .field("hidden_dim", c.inner)
      .field("dropout", c.hidden_dropout)
      .field("attention_dropout", c.attention_dropout)
      .field("activation", c.activation)
      .field("initializer_range", c.initializer_range)
      .field("tie_word_embeddings", style.masked_lm.tied)
      .optional_id("pad_token_id", c.padding_id)
      .ignore({"qa_dropout", "seq_classif_dropout", "tie_weights_"});
}

}  // namespace

Model build_distilbert(Request& request) {
  EncoderConfig c;
  c.token_types = 0;
  c.layers = 6;
  c.hidden_dropout = c.attention_dropout = 0.1;
  EncoderStyle style{.base = "distilbert"};
  distilbert_keys(request.config, c, style);
  style.encoder = {{"embeddings.tokens", "embeddings.word_embeddings"},
                   {"embeddings.positions", "embeddings.position_embeddings"},
                   {"embeddings.norm", "embeddings.LayerNorm"}};
  add_layers(style.encoder, c.layers, "transformer.layer",
             {{"attention.query", "attention.q_lin"},
              {"attention.key", "attention.k_lin"},
              {"attention.value", "attention.v_lin"},
              {"attention.out", "attention.out_lin"},
              {"attention_norm", "sa_layer_norm"},
              {"feed_forward.up", "ffn.lin1"},
              {"feed_forward.down", "ffn.lin2"},
              {"feed_forward_norm", "output_layer_norm"}});
  style.heads = {{"masked_lm.dense", "vocab_transform"},
                 {"masked_lm.norm", "vocab_layer_norm"},
                 {"masked_lm.bias", "vocab_projector.bias"},
                 {"masked_lm.decoder", "vocab_projector"},
                 {"span", "qa_outputs"}};
  style.classifier_dense = {"pre_classifier", Activation::relu};
  style.masked_lm.activation = c.activation;
  style.takes_position_ids = style.takes_token_types = false;
  return build_encoder(request, c, style);
}

void write_distilbert(ConfigWriter& config, const std::string&, const FamilyConfig& family,
                      const HeadFacts& heads) {
  write_encoder(config, family, heads, [](auto&... parts) { distilbert_keys(parts...); });
}

}  // namespace weft::hf
