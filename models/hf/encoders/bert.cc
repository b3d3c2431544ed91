// BERT and the model types that use the same encoder: RoBERTa (also XLM-RoBERTa and CamemBERT) and
// ELECTRA.
#include "weft/models/hf/encoders/encoder_keys.h"

namespace weft::hf {
namespace {

/// Config keys that these model types share.
template <class Config>
void bert_keys(Config& config, EncoderConfig& c, EncoderStyle& style) {
  encoder_keys(config, c);
  position_key(config, c);
  config.field("tie_word_embeddings", style.masked_lm.tied);
  style.masked_lm.layer_norm_eps = c.layer_norm_eps;
}

/// Returns the encoder's names, which these model types share, with the prefix `base`.
EncoderStyle bert_style(const std::string& base) {
  return {.base = base,
          .encoder = {{"embeddings.projection", "embeddings_project"}},
          .layer = "encoder.layer.{}",
          .layer_modules = {{"attention.query", "attention.self.query"},
                            {"attention.key", "attention.self.key"},
                            {"attention.value", "attention.self.value"},
                            {"attention.distances", "attention.self.distance_embedding"},
                            {"attention.out", "attention.output.dense"},
                            {"attention_norm", "attention.output.LayerNorm"},
                            {"feed_forward.up", "intermediate.dense"},
                            {"feed_forward.down", "output.dense"},
                            {"feed_forward_norm", "output.LayerNorm"}}};
}

EncoderType bert() {
  EncoderStyle style = bert_style("bert");
  style.heads = {{"masked_lm.dense", "cls.predictions.transform.dense"},
                 {"masked_lm.norm", "cls.predictions.transform.LayerNorm"},
                 {"masked_lm.bias", "cls.predictions.bias"},
                 {"masked_lm.decoder", "cls.predictions.decoder"},
                 {"sentence_pair", "cls.seq_relationship"}};
  style.pooler = {"pooler.dense", Activation::tanh};
  style.pair_logits = "seq_relationship_logits";
  style.pair_labels = "next_sentence_label";
  style.has_next_sentence_class = true;
  return {.name = "bert",
          .prefix = "Bert",
          .defaults = {.hidden_dropout = 0.1, .attention_dropout = 0.1},
          .style = style,
          .keys = [](auto& config, EncoderConfig& c, EncoderStyle& style) {
            bert_keys(config, c, style);
            style.masked_lm.activation = c.activation;
          }};
}

EncoderType roberta(const std::string& name, const std::string& prefix) {
  EncoderStyle style = bert_style("roberta");
  style.heads = {{"masked_lm.dense", "lm_head.dense"},
                 {"masked_lm.norm", "lm_head.layer_norm"},
                 {"masked_lm.bias", "lm_head.bias"},
                 {"masked_lm.decoder", "lm_head.decoder"}};
  style.sequence_classifier = "classifier.out_proj";
  style.pooler = {"pooler.dense", Activation::tanh};
  style.classifier_dense = {"classifier.dense", Activation::tanh};
  return {.name = name,
          .prefix = prefix,
          .defaults = {.vocab = 50265,
                       .padding_id = 1,
                       .positions_skip_padding = true,
                       .hidden_dropout = 0.1,
                       .attention_dropout = 0.1},
          .style = style,
          .keys = [](auto& config, auto&... parts) { bert_keys(config, parts...); }};
}

EncoderType electra() {
  EncoderStyle style = bert_style("electra");
  style.heads = {{"masked_lm.dense", "generator_predictions.dense"},
                 {"masked_lm.norm", "generator_predictions.LayerNorm"},
                 {"masked_lm.bias", "generator_lm_head.bias"},
                 {"masked_lm.decoder", "generator_lm_head"},
                 {"replaced_token.dense", "discriminator_predictions.dense"},
                 {"replaced_token.out", "discriminator_predictions.dense_prediction"}};
  style.sequence_classifier = "classifier.out_proj";
  style.classifier_dense = {"classifier.dense", Activation::gelu_erf};
  style.replaced_tokens = true;
  return {.name = "electra",
          .prefix = "Electra",
          .defaults = {.heads = 4,
                       .width = 256,
                       .inner = 1024,
                       .embedding_width = 128,
                       .hidden_dropout = 0.1,
                       .attention_dropout = 0.1},
          .style = style,
          .keys = [](auto& config, EncoderConfig& c, EncoderStyle& style) {
            bert_keys(config, c, style);
            config.field("embedding_size", c.embedding_width);
            if (c.embedding_width != c.width)
              c.embedding_projection = EmbeddingProjection::after_norm;
          }};
}

}  // namespace

ModelTypes bert_model_types() {
  return encoder_model_types({bert(), roberta("roberta", "Roberta"),
                              roberta("xlm-roberta", "XLMRoberta"),
                              roberta("camembert", "Camembert"), electra()});
}

}  // namespace weft::hf
