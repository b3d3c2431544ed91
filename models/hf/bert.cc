// BERT and the families that use the same encoder: RoBERTa (also XLM-RoBERTa and CamemBERT) and
// ELECTRA.
#include "weft/models/hf/encoder_keys.h"

namespace weft::hf {
namespace {

/// Config keys that these families share.
template <class Config>
void bert_keys(Config& config, EncoderConfig& c, EncoderStyle& style) {
  encoder_keys(config, c);
  position_key(config, c);
  config.field("tie_word_embeddings", style.masked_lm.tied).ignore({"classifier_dropout"});
}

template <class Config>
void electra_keys(Config& config, EncoderConfig& c, EncoderStyle& style) {
  bert_keys(config, c, style);
  config.field("embedding_size", c.embedding_width);
}

ModuleNames bert_names(const EncoderConfig& c) {
  ModuleNames names = {{"embeddings.tokens", "embeddings.word_embeddings"},
                       {"embeddings.positions", "embeddings.position_embeddings"},
                       {"embeddings.token_types", "embeddings.token_type_embeddings"},
                       {"embeddings.norm", "embeddings.LayerNorm"}};
  add_layers(names, c.layers, "encoder.layer",
             {{"attention.query", "attention.self.query"},
              {"attention.key", "attention.self.key"},
              {"attention.value", "attention.self.value"},
              {"attention.distances", "attention.self.distance_embedding"},
              {"attention.out", "attention.output.dense"},
              {"attention_norm", "attention.output.LayerNorm"},
              {"feed_forward.up", "intermediate.dense"},
              {"feed_forward.down", "output.dense"},
              {"feed_forward_norm", "output.LayerNorm"}});
  return names;
}

EncoderConfig bert_defaults() {
  EncoderConfig c;
  c.hidden_dropout = c.attention_dropout = 0.1;
  return c;
}

}  // namespace

Model build_bert(Request& request) {
  EncoderConfig c = bert_defaults();
  EncoderStyle style{.base = "bert"};
  bert_keys(request.config, c, style);
  style.encoder = bert_names(c);
  style.heads = {{"masked_lm.dense", "cls.predictions.transform.dense"},
                 {"masked_lm.norm", "cls.predictions.transform.LayerNorm"},
                 {"masked_lm.bias", "cls.predictions.bias"},
                 {"masked_lm.decoder", "cls.predictions.decoder"},
                 {"sentence_pair", "cls.seq_relationship"},
                 {"span", "qa_outputs"}};
  style.pooler = {"pooler.dense", Activation::tanh};
  style.masked_lm.activation = c.activation;
  style.masked_lm.layer_norm_eps = c.layer_norm_eps;
  request.config.ignore({"pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
                         "pooler_size_per_head", "pooler_type"});
  style.pair_logits = "seq_relationship_logits";
  style.pair_labels = "next_sentence_label";
  return build_encoder(request, c, style);
}

Model build_roberta(Request& request) {
  EncoderConfig c = bert_defaults();
  c.vocab = 50265;
  c.padding_id = 1;
  c.positions_skip_padding = true;
  EncoderStyle style{.base = "roberta"};
  bert_keys(request.config, c, style);
  style.encoder = bert_names(c);
  style.heads = {{"masked_lm.dense", "lm_head.dense"},
                 {"masked_lm.norm", "lm_head.layer_norm"},
                 {"masked_lm.bias", "lm_head.bias"},
                 {"masked_lm.decoder", "lm_head.decoder"},
                 {"span", "qa_outputs"}};
  if (request.architecture.ends_with("ForSequenceClassification"))
    style.heads.emplace_back("classifier", "classifier.out_proj");
  style.pooler = {"pooler.dense", Activation::tanh};
  style.classifier_dense = {"classifier.dense", Activation::tanh};
  style.masked_lm.activation = Activation::gelu_erf;
  style.masked_lm.layer_norm_eps = c.layer_norm_eps;
  return build_encoder(request, c, style);
}

Model build_electra(Request& request) {
  EncoderConfig c = bert_defaults();
  c.width = 256;
  c.heads = 4;
  c.inner = 1024;
  c.embedding_width = 128;
  EncoderStyle style{.base = "electra"};
  electra_keys(request.config, c, style);
  if (c.embedding_width != c.width) c.embedding_projection = EmbeddingProjection::after_norm;
  style.encoder = bert_names(c);
  style.encoder.emplace_back("embeddings.projection", "embeddings_project");
  style.heads = {{"masked_lm.dense", "generator_predictions.dense"},
                 {"masked_lm.norm", "generator_predictions.LayerNorm"},
                 {"masked_lm.bias", "generator_lm_head.bias"},
                 {"masked_lm.decoder", "generator_lm_head"},
                 {"replaced_token.dense", "discriminator_predictions.dense"},
                 {"replaced_token.out", "discriminator_predictions.dense_prediction"},
                 {"span", "qa_outputs"}};
  if (request.architecture.ends_with("ForSequenceClassification"))
    style.heads.emplace_back("classifier", "classifier.out_proj");
  style.classifier_dense = {"classifier.dense", Activation::gelu_erf};
  style.masked_lm.activation = Activation::gelu_erf;
  style.masked_lm.layer_norm_eps = c.layer_norm_eps;
  style.replaced_tokens = true;
  // Only the multiple-choice class uses the summary, and that class is not supported.
  request.config.ignore({"summary_type", "summary_use_proj", "summary_activation",
                         "summary_last_dropout", "summary_first_dropout",
                         "summary_proj_to_labels"});
  return build_encoder(request, c, style);
}

void write_bert(ConfigWriter& config, const std::string&, const FamilyConfig& family,
                const HeadFacts& heads) {
  write_encoder(config, family, heads, [](auto&... parts) { bert_keys(parts...); });
}

void write_electra(ConfigWriter& config, const std::string&, const FamilyConfig& family,
                   const HeadFacts& heads) {
  write_encoder(config, family, heads, [](auto&... parts) { electra_keys(parts...); });
}

}  // namespace weft::hf
