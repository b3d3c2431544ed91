// DeBERTa version 1 and version 2. Version 3 is a configuration of version 2.
#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/hf/encoders/encoder_keys.h"

namespace weft::hf {
namespace {

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

/// If "legacy" is false, the masked language model has a head with other tensor names, which
/// computes the same function and always uses the word embeddings.
void legacy_key(ConfigReader& config, EncoderConfig& c, EncoderStyle& style) {
  bool legacy = true;
  config.field("legacy", legacy);
  if (legacy) return;
  style.heads = {{"masked_lm.dense", "lm_predictions.lm_head.dense"},
                 {"masked_lm.norm", "lm_predictions.lm_head.LayerNorm"},
                 {"masked_lm.bias", "lm_predictions.lm_head.bias"}};
  c.tied_head = true;
}
void legacy_key(ConfigWriter&, const EncoderConfig&, const EncoderStyle&) {}

template <class Config>
void deberta_keys(Config& config, EncoderConfig& c, EncoderStyle& style) {
  encoder_keys(config, c);
  config.field("relative_attention", c.relative_attention)
      .field("max_relative_positions", c.max_relative)
      .field("position_biased_input", c.absolute_positions)
      .field("embedding_size", c.embedding_width)
      .field("tie_word_embeddings", c.tied_head)
      .fixed("talking_head", false, "talking heads are not supported")
      .field("pooler_hidden_act", style.classifier_dense.activation)
      .ignore({"pooler_dropout", "cls_dropout"});
  legacy_key(config, c, style);
  term_key(config, c);
  pooler_width_key(config, c);
  if (c.max_relative < 1) c.max_relative = c.context;
  if (c.embeddings() != c.width) c.embedding_projection = EmbeddingProjection::before_norm;
  style.masked_lm.activation = c.activation;
  style.masked_lm.layer_norm_eps = c.layer_norm_eps;
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

/// Returns the description of a version. `attention` contains the names of the attention modules
/// that differ between the versions.
EncoderType deberta_type(const std::string& name, const std::string& prefix,
                         Keys<EncoderConfig, EncoderStyle> keys, const ModuleNames& attention) {
  EncoderStyle style{.base = "deberta",
                     .encoder = {{"embeddings.projection", "embeddings.embed_proj"},
                                 {"relative_positions", "encoder.rel_embeddings"},
                                 {"relative_positions.norm", "encoder.LayerNorm"},
                                 {"conv", "encoder.conv.conv"},
                                 {"conv.norm", "encoder.conv.LayerNorm"}},
                     .layer = "encoder.layer.{}",
                     .layer_modules = {{"attention.out", "attention.output.dense"},
                                       {"attention_norm", "attention.output.LayerNorm"},
                                       {"feed_forward.up", "intermediate.dense"},
                                       {"feed_forward.down", "output.dense"},
                                       {"feed_forward_norm", "output.LayerNorm"}},
                     .heads = {{"masked_lm.dense", "cls.predictions.transform.dense"},
                               {"masked_lm.norm", "cls.predictions.transform.LayerNorm"},
                               {"masked_lm.bias", "cls.predictions.bias"},
                               {"masked_lm.decoder", "cls.predictions.decoder"}},
                     .classifier_dense = {"pooler.dense", Activation::gelu_erf},
                     .soft_sequence_labels = true};
  for (const auto& [ours, theirs] : attention)
    style.layer_modules.emplace_back("attention." + ours, "attention.self." + theirs);
  return {.name = name,
          .prefix = prefix,
          .defaults = {.token_types = 0,
                       .layer_norm_eps = 1e-7,
                       .positions = EncoderPositions::disentangled,
                       .content_to_position = false,
                       .position_to_content = false,
                       .relative_attention = false,
                       .absolute_positions = true,
                       .max_relative = -1,
                       .hidden_dropout = 0.1,
                       .attention_dropout = 0.1},
          .style = style,
          .keys = keys};
}

}  // namespace

ModelTypes deberta_model_types() {
  EncoderType first =
      deberta_type("deberta", "Deberta", [](auto&... parts) { deberta_keys(parts...); },
                   {{"in", "in_proj"},
                    {"query_bias", "q_bias"},
                    {"value_bias", "v_bias"},
                    {"position_key", "pos_proj"},
                    {"position_query", "pos_q_proj"}});
  first.defaults.vocab = 50265;
  first.defaults.fused_attention = true;
  EncoderType second =
      deberta_type("deberta-v2", "DebertaV2", [](auto&... parts) { deberta_v2_keys(parts...); },
                   {{"query", "query_proj"},
                    {"key", "key_proj"},
                    {"value", "value_proj"},
                    {"position_key", "pos_key_proj"},
                    {"position_query", "pos_query_proj"}});
  second.defaults.vocab = 128100;
  second.defaults.width = 1536;
  second.defaults.layers = second.defaults.heads = 24;
  second.defaults.inner = 6144;
  return encoder_model_types({first, second});
}

}  // namespace weft::hf
