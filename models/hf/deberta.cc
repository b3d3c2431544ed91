// DeBERTa version 1 and version 2. Version 3 is a configuration of version 2.
#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/hf/encoder_keys.h"

namespace weft::hf {
namespace {

/// Returns the defaults that both versions share.
EncoderConfig deberta_defaults() {
  EncoderConfig c;
  c.positions = EncoderPositions::disentangled;
  c.token_types = 0;
  c.layer_norm_eps = 1e-7;
  c.hidden_dropout = c.attention_dropout = 0.1;
  c.relative_attention = false;
  c.absolute_positions = true;
  c.max_relative = -1;
  c.content_to_position = c.position_to_content = false;
  return c;
}

void term_key(ConfigReader& config, EncoderConfig& c) {
  for (const std::string& term : config.list("pos_att_type")) {
    if (term == "c2p") {
      c.content_to_position = true;
    } else if (term == "p2c") {
      c.position_to_content = true;
    } else {
      throw ArgumentError(fmt::format(
          "config.json: pos_att_type contains \"{}\"; supported are c2p and p2c", term));
    }
  }
}
void term_key(ConfigWriter& config, const EncoderConfig& c) {
  json terms = json::array();
  if (c.content_to_position) terms.push_back("c2p");
  if (c.position_to_content) terms.push_back("p2c");
  config.field("pos_att_type", terms);
}

void pooler_width_key(ConfigReader& config, const EncoderConfig& c) {
  std::int64_t width = c.width;
  config.field("pooler_hidden_size", width);
  if (width != c.width) {
    throw ArgumentError(fmt::format(
        "config.json: pooler_hidden_size {} differs from hidden_size {}", width, c.width));
  }
}
void pooler_width_key(ConfigWriter& config, const EncoderConfig& c) {
  config.field("pooler_hidden_size", c.width);
}

template <class Config>
void deberta_keys(Config& config, EncoderConfig& c, EncoderStyle& style) {
  encoder_keys(config, c);
  config.field("relative_attention", c.relative_attention)
      .field("max_relative_positions", c.max_relative)
      .field("position_biased_input", c.absolute_positions)
      .field("embedding_size", c.embedding_width)
      .field("tie_word_embeddings", style.masked_lm.tied)
      .fixed("talking_head", false, "talking heads are not supported")
      .field("pooler_hidden_act", style.classifier_dense.activation)
      .ignore({"pooler_dropout", "cls_dropout", "classifier_dropout"});
  term_key(config, c);
  pooler_width_key(config, c);
}

void relative_norm_key(ConfigReader& config, EncoderConfig& c) {
  for (const std::string& norm : config.list("norm_rel_ebd")) {
    if (norm == "layer_norm") {
      c.relative_norm = true;
    } else if (norm != "none") {
      throw ArgumentError(fmt::format(
          "config.json: norm_rel_ebd contains \"{}\"; supported are layer_norm and none", norm));
    }
  }
}
void relative_norm_key(ConfigWriter& config, const EncoderConfig& c) {
  config.field("norm_rel_ebd", std::string(c.relative_norm ? "layer_norm" : "none"));
}

/// Config keys of version 2.
template <class Config>
void deberta_v2_keys(Config& config, EncoderConfig& c, EncoderStyle& style) {
  deberta_keys(config, c, style);
  config
      .converted(
          "position_buckets",
          [&](const json& value) {
            read_json(value, "position_buckets", c.position_buckets);
            c.position_buckets = std::max<std::int64_t>(0, c.position_buckets);
          },
          [&]() -> json { return c.position_buckets == 0 ? -1 : c.position_buckets; })
      .field("share_att_key", c.shared_projections)
      .optional_size("attention_head_size", c.head_size)
      .field("conv_kernel_size", c.conv_kernel)
      .field("conv_groups", c.conv_groups)
      .field("conv_act", c.conv_activation);
  relative_norm_key(config, c);
}

/// Sets the fields that are derived from other config keys.
void derive(EncoderConfig& c, EncoderStyle& style) {
  if (c.max_relative < 1) c.max_relative = c.context;
  if (c.embeddings() != c.width) c.embedding_projection = EmbeddingProjection::before_norm;
  style.classifier_dense.name = "pooler.dense";
  style.masked_lm.activation = c.activation;
  style.masked_lm.layer_norm_eps = c.layer_norm_eps;
  style.soft_sequence_labels = true;
  style.heads = {{"masked_lm.dense", "cls.predictions.transform.dense"},
                 {"masked_lm.norm", "cls.predictions.transform.LayerNorm"},
                 {"masked_lm.bias", "cls.predictions.bias"},
                 {"masked_lm.decoder", "cls.predictions.decoder"},
                 {"span", "qa_outputs"}};
}

EncoderStyle deberta_style() {
  EncoderStyle style{.base = "deberta"};
  style.classifier_dense.activation = Activation::gelu_erf;
  return style;
}

/// Adds the names of all modules. `attention` contains the names of the attention modules that
/// differ between the versions.
void add_names(EncoderStyle& style, const EncoderConfig& c, const ModuleNames& attention) {
  style.encoder = {{"embeddings.tokens", "embeddings.word_embeddings"},
                   {"embeddings.positions", "embeddings.position_embeddings"},
                   {"embeddings.token_types", "embeddings.token_type_embeddings"},
                   {"embeddings.norm", "embeddings.LayerNorm"},
                   {"embeddings.projection", "embeddings.embed_proj"},
                   {"relative_positions", "encoder.rel_embeddings"},
                   {"relative_positions.norm", "encoder.LayerNorm"},
                   {"conv", "encoder.conv.conv"},
                   {"conv.norm", "encoder.conv.LayerNorm"}};
  ModuleNames parts = attention;
  for (auto& [ours, theirs] : parts) theirs.insert(0, "attention.self.");
  parts.insert(parts.end(), {{"attention.out", "attention.output.dense"},
                             {"attention_norm", "attention.output.LayerNorm"},
                             {"feed_forward.up", "intermediate.dense"},
                             {"feed_forward.down", "output.dense"},
                             {"feed_forward_norm", "output.LayerNorm"}});
  add_layers(style.encoder, c.layers, "encoder.layer", parts);
}

}  // namespace

Model build_deberta(Request& request) {
  EncoderConfig c = deberta_defaults();
  EncoderStyle style = deberta_style();
  c.vocab = 50265;
  deberta_keys(request.config, c, style);
  derive(c, style);
  c.fused_attention = true;
  add_names(style, c,
            {{"attention.in", "in_proj"},
             {"attention.query_bias", "q_bias"},
             {"attention.value_bias", "v_bias"},
             {"attention.position_key", "pos_proj"},
             {"attention.position_query", "pos_q_proj"}});
  return build_encoder(request, c, style);
}

Model build_deberta_v2(Request& request) {
  EncoderConfig c = deberta_defaults();
  EncoderStyle style = deberta_style();
  c.vocab = 128100;
  c.width = 1536;
  c.layers = c.heads = 24;
  c.inner = 6144;
  deberta_v2_keys(request.config, c, style);
  derive(c, style);
  add_names(style, c,
            {{"attention.query", "query_proj"},
             {"attention.key", "key_proj"},
             {"attention.value", "value_proj"},
             {"attention.position_key", "pos_key_proj"},
             {"attention.position_query", "pos_query_proj"}});
  return build_encoder(request, c, style);
}

void write_deberta(ConfigWriter& config, const std::string& type, const FamilyConfig& family,
                   const HeadFacts& heads) {
  write_encoder(config, family, heads, [&](auto&... parts) {
    type == "deberta" ? deberta_keys(parts...) : deberta_v2_keys(parts...);
  });
}

}  // namespace weft::hf
