// BERT and the model types that use the same names: RoBERTa (also XLM-RoBERTa and CamemBERT),
// ELECTRA, ERNIE and RoFormer.
#include "weft/models/hf/encoders/encoder_keys.h"

namespace weft::hf {
namespace {

/// Config keys that these model types share.
template <class Config>
void bert_keys(Config& config, EncoderConfig& c, EncoderStyle& style) {
  encoder_keys(config, c);
  position_key(config, c);
  config.field("tie_word_embeddings", c.tied_head);
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

/// The key use_task_id switches the table of task types on.
void task_type_keys(ConfigReader& config, EncoderConfig& c) {
  bool used = false;
  c.task_types = 3;
  config.field("use_task_id", used).field("task_type_vocab_size", c.task_types);
  if (!used) c.task_types = 0;
}
void task_type_keys(ConfigWriter& config, const EncoderConfig& c) {
  config.field("use_task_id", c.task_types > 0);
  if (c.task_types > 0) config.field("task_type_vocab_size", c.task_types);
}

/// ERNIE is BERT with a table of task types.
EncoderType ernie() {
  EncoderType type = bert();
  type.name = "ernie";
  type.prefix = "Ernie";
  type.style.base = "ernie";
  type.keys = [](auto& config, EncoderConfig& c, EncoderStyle& style) {
    bert_keys(config, c, style);
    task_type_keys(config, c);
    style.masked_lm.activation = c.activation;
  };
  return type;
}

EncoderType roformer() {
  EncoderStyle style = bert_style("roformer");
  style.heads = {{"masked_lm.dense", "cls.predictions.transform.dense"},
                 {"masked_lm.norm", "cls.predictions.transform.LayerNorm"},
                 {"masked_lm.bias", "cls.predictions.bias"},
                 {"masked_lm.decoder", "cls.predictions.decoder"}};
  style.sequence_classifier = "classifier.out_proj";
  style.classifier_dense = {"classifier.dense", Activation::gelu_erf};
  style.takes_position_ids = false;
  style.unused = {"encoder.embed_positions.weight"};  // sines and cosines
  return {.name = "roformer",
          .prefix = "RoFormer",
          .defaults = {.vocab = 50000,
                       .context = 1536,
                       .positions = EncoderPositions::rotary,
                       .rotary_adjacent = true,
                       .hidden_dropout = 0.1,
                       .attention_dropout = 0.1},
          .style = style,
          .keys = [](auto& config, EncoderConfig& c, EncoderStyle& style) {
            encoder_keys(config, c);
            config.field("rotary_value", c.rotary_values)
                .optional_size("embedding_size", c.embedding_width)
                .field("tie_word_embeddings", c.tied_head);
            if (c.embeddings() != c.width) c.embedding_projection = EmbeddingProjection::after_norm;
            style.masked_lm = {c.activation, c.layer_norm_eps};
            style.classifier_dense.activation = c.activation;
          }};
}

}  // namespace

ModelTypes bert_model_types() {
  return encoder_model_types({bert(), roberta("roberta", "Roberta"),
                              roberta("xlm-roberta", "XLMRoberta"),
                              roberta("camembert", "Camembert"), electra(), ernie(), roformer()});
}

}  // namespace weft::hf
