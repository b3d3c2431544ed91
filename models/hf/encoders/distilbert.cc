// DistilBERT: BERT without token types and without a pooler, with different parameter names.
#include "weft/models/hf/encoders/encoder_keys.h"

namespace weft::hf {

ModelTypes distilbert_model_types() {
  return encoder_model_types(
      {{.name = "distilbert",
        .prefix = "DistilBert",
        .defaults =
            {.token_types = 0, .layers = 6, .hidden_dropout = 0.1, .attention_dropout = 0.1},
        .style = {.base = "distilbert",
                  .layer = "transformer.layer.{}",
                  .layer_modules = {{"attention.query", "attention.q_lin"},
                                    {"attention.key", "attention.k_lin"},
                                    {"attention.value", "attention.v_lin"},
                                    {"attention.out", "attention.out_lin"},
                                    {"attention_norm", "sa_layer_norm"},
                                    {"feed_forward.up", "ffn.lin1"},
                                    {"feed_forward.down", "ffn.lin2"},
                                    {"feed_forward_norm", "output_layer_norm"}},
                  .heads = {{"masked_lm.dense", "vocab_transform"},
                            {"masked_lm.norm", "vocab_layer_norm"},
                            {"masked_lm.bias", "vocab_projector.bias"},
                            {"masked_lm.decoder", "vocab_projector"}},
                  .classifier_dense = {"pre_classifier", Activation::relu},
                  .takes_position_ids = false,
                  .takes_token_types = false},
        .keys = [](auto& config, EncoderConfig& c, EncoderStyle& style) {
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
              .field("tie_word_embeddings", c.tied_head)
              .optional_id("pad_token_id", c.padding_id)
              // Hugging Face transformers also accepts the names of BERT's keys.
              .repeated("num_hidden_layers", "n_layers", c.layers)
              .repeated("num_attention_heads", "n_heads", c.heads)
              .repeated("hidden_size", "dim", c.width)
              .ignore({"qa_dropout", "seq_classif_dropout", "tie_weights_"});
          style.masked_lm.activation = c.activation;
        }}});
}

}  // namespace weft::hf
