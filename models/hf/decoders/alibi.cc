// BLOOM, MPT and Falcon: linear biases of the scores (ALiBi) in place of position embeddings.
// Falcon also has a form with rotary positions.
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "weft/models/hf/decoders/keys.h"

namespace weft::hf {
namespace {

/// Returns the number of times that Falcon's biases are added. In transformers since 4.45, the mask
/// contains them and attention (in the implementation "eager") adds them again; models that were
/// published before were trained with one.
double falcon_bias_count(const ConfigReader& config, const GptConfig&) {
  const std::string version = config.text("transformers_version");
  int major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "%d.%d", &major, &minor) != 2) return 1;
  return std::pair(major, minor) >= std::pair(4, 45) ? 2 : 1;
}
double falcon_bias_count(ConfigWriter& config, const GptConfig& c) {
  const double count = c.linear_bias_scale * std::sqrt(static_cast<double>(c.head_size()));
  if (std::round(count) == 2) config.field("transformers_version", std::string("4.45.0"));
  return count;
}

/// The fields of Falcon that depend on several keys.
template <class Config>
void falcon_layout_keys(Config& config, GptConfig& c) {
  bool parallel = c.residual != GptResidual::pre_norm;
  bool grouped = c.projection == QkvProjection::fused_by_head && parallel &&
                 (c.residual == GptResidual::parallel || c.key_heads() != c.heads);
  bool one_key_head = c.projection == QkvProjection::fused;
  bool alibi = c.positions == GptPositions::linear_bias;
  std::int64_t key_heads = grouped ? c.key_heads() : c.heads;
  std::int64_t norms = c.residual == GptResidual::parallel ? 2 : grouped ? 1 : 0;
  config.optional_size("num_kv_heads", key_heads)
      .repeated("n_head_kv", "num_kv_heads", key_heads)
      .field("new_decoder_architecture", grouped)
      .field("multi_query", one_key_head)
      .field("parallel_attn", parallel)
      .field("alibi", alibi)
      .optional_size("num_ln_in_parallel_attn", norms);
  if (grouped && norms == 0) norms = 2;
  parallel = parallel || grouped;
  c.residual = !parallel               ? GptResidual::pre_norm
               : grouped && norms == 2 ? GptResidual::parallel
                                       : GptResidual::parallel_one_norm;
  c.projection = one_key_head && !grouped ? QkvProjection::fused : QkvProjection::fused_by_head;
  c.kv_heads = grouped ? (key_heads == 0 ? c.heads : key_heads) : one_key_head ? 1 : c.heads;
  c.positions = alibi ? GptPositions::linear_bias : GptPositions::rotary;
  // The bias is added before the scores are divided.
  c.linear_bias_scale =
      alibi ? falcon_bias_count(config, c) / std::sqrt(static_cast<double>(c.head_size())) : 1;
}

}  // namespace

std::vector<GptType> alibi_types() {
  return {
      {.name = "bloom",
       .prefix = "Bloom",
       .defaults = {.vocab = 250880,
                    .layers = 2,
                    .heads = 8,
                    .width = 64,
                    .context = 2048,
                    .embedding_norm = true,
                    .positions = GptPositions::linear_bias,
                    .projection = QkvProjection::fused_by_head,
                    .transposed = false},
       .keys =
           [](auto& config, GptConfig& c) {
             config.field("vocab_size", c.vocab)
                 .field("hidden_size", c.width)
                 .repeated("n_embed", "hidden_size", c.width)
                 .field("n_layer", c.layers)
                 .repeated("num_hidden_layers", "n_layer", c.layers)
                 .field("n_head", c.heads)
                 .repeated("num_attention_heads", "n_head", c.heads)
                 .field("seq_length", c.context)
                 .field("layer_norm_epsilon", c.layer_norm_eps)
                 .field("initializer_range", c.initializer_range)
                 .field("tie_word_embeddings", c.tied_head)
                 .field("hidden_dropout", c.residual_dropout)
                 .field("attention_dropout", c.attention_dropout)
                 .fixed("apply_residual_connection_post_layernorm", false,
                        "residual connections around the norms are not supported")
                 .ignore({"attention_softmax_in_fp32", "bias_dropout_fusion",
                          "masked_softmax_fusion", "offset_alibi", "pad_token_id", "skip_bias_add",
                          "skip_bias_add_qkv", "slow_but_exact", "unk_token_id"});
           },
       .names = {.base = "transformer.",
                 .modules = {{"wte", "word_embeddings"},
                             {"wte_norm", "word_embeddings_layernorm"},
                             {"ln_f", "ln_f"}},
                 .blocks = "h",
                 .block_modules = {{"ln_1", "input_layernorm"},
                                   {"ln_2", "post_attention_layernorm"},
                                   {"attn.c_attn", "self_attention.query_key_value"},
                                   {"attn.c_proj", "self_attention.dense"},
                                   {"mlp.c_fc", "mlp.dense_h_to_4h"},
                                   {"mlp.c_proj", "mlp.dense_4h_to_h"}}},
       .token_scores = "classifier",
       .takes_position_ids = false,
       .default_bos_id = 1,
       .default_pad_id = 3},
      {.name = "mpt",
       .prefix = "Mpt",
       .defaults = {.vocab = 50368,
                    .layers = 24,
                    .heads = 16,
                    .width = 2048,
                    .context = 2048,
                    .activation = Activation::gelu_erf,
                    .bias = false,
                    .positions = GptPositions::linear_bias,
                    .projection = QkvProjection::fused,
                    .transposed = false},
       .keys =
           [](auto& config, GptConfig& c) {
             config.field("vocab_size", c.vocab)
                 .field("d_model", c.width)
                 .repeated("hidden_size", "d_model", c.width)
                 .field("n_layers", c.layers)
                 .repeated("num_hidden_layers", "n_layers", c.layers)
                 .field("n_heads", c.heads)
                 .repeated("num_attention_heads", "n_heads", c.heads)
                 .field("max_seq_len", c.context)
                 .field("layer_norm_epsilon", c.layer_norm_eps)
                 .field("initializer_range", c.initializer_range)
                 .field("tie_word_embeddings", c.tied_head)
                 .field("emb_pdrop", c.embedding_dropout)
                 .field("resid_pdrop", c.residual_dropout)
                 .fixed("logit_scale", json(), "a factor of the logits is not supported")
                 // transformers reads none of these: the feed-forward block always has four times
                 // the width, and there are no biases and no learned positions.
                 .ignore({"embedding_fraction", "expansion_ratio", "fc_type", "init_config",
                          "init_device", "learned_pos_emb", "no_bias", "norm_type", "pad_token_id",
                          "tokenizer_name", "verbose"});
             config.subsection(
                 "attn_config",
                 [&](auto& attention) {
                   attention.field("attn_pdrop", c.attention_dropout)
                       .optional_number("clip_qkv", c.clip_qkv)
                       .optional_number("softmax_scale", c.attention_scale)
                       .fixed("alibi", true, "MPT without ALiBi is not supported")
                       .fixed("attn_type", "multihead_attention",
                              "MPT with one key head is not supported")
                       .fixed("qk_ln", false, "MPT with norms of queries is not supported")
                       .fixed("prefix_lm", false, "prefixes without a mask are not supported")
                       .fixed("attn_uses_sequence_id", false,
                              "attention within segments is not supported")
                       // transformers ignores alibi_bias_max and always uses 8.
                       .ignore({"alibi_bias_max", "attn_impl", "model_type"});
                 },
                 "the scores");
           },
       .names = {.base = "transformer.",
                 .modules = {{"wte", "wte"}, {"ln_f", "norm_f"}},
                 .blocks = "blocks",
                 .block_modules = {{"ln_1", "norm_1"},
                                   {"ln_2", "norm_2"},
                                   {"attn.c_attn", "attn.Wqkv"},
                                   {"attn.c_proj", "attn.out_proj"},
                                   {"mlp.c_fc", "ffn.up_proj"},
                                   {"mlp.c_proj", "ffn.down_proj"}}},
       .token_scores = "classifier",
       .takes_position_ids = false,
       .authors_prefix = "MPT"},
      {.name = "falcon",
       .prefix = "Falcon",
       .defaults = {.vocab = 65024,
                    .layers = 32,
                    .heads = 71,
                    .kv_heads = 1,
                    .width = 4544,
                    .context = 2048,
                    .activation = Activation::gelu_erf,
                    .bias = false,
                    .norm_bias = true,
                    .residual = GptResidual::parallel_one_norm,
                    .positions = GptPositions::rotary,
                    .projection = QkvProjection::fused,
                    .transposed = false},
       .keys =
           [](auto& config, GptConfig& c) {
             config.field("vocab_size", c.vocab)
                 .field("hidden_size", c.width)
                 .repeated("n_embed", "hidden_size", c.width)
                 .field("num_hidden_layers", c.layers)
                 .repeated("n_layer", "num_hidden_layers", c.layers)
                 .field("num_attention_heads", c.heads)
                 .repeated("n_head", "num_attention_heads", c.heads)
                 .optional_size("ffn_hidden_size", c.inner)
                 .field("activation", c.activation)
                 .field("max_position_embeddings", c.context)
                 .field("layer_norm_epsilon", c.layer_norm_eps)
                 .field("initializer_range", c.initializer_range)
                 .field("tie_word_embeddings", c.tied_head)
                 .field("hidden_dropout", c.residual_dropout)
                 .field("attention_dropout", c.attention_dropout)
                 .field("bias", c.bias)
                 .field("rope_theta", c.rotary_base)
                 .fixed("apply_residual_connection_post_layernorm", false,
                        "residual connections around the norms are not supported")
                 .ignore({"ff_factor", "pad_token_id"});
             check_sizes(config, c);
             falcon_layout_keys(config, c);
             rotary_keys(config, c);
             if (c.positions != GptPositions::rotary) c.rotary_scaling = RotaryScalingKind::none;
           },
       .names = {.base = "transformer.",
                 .modules = {{"wte", "word_embeddings"}, {"ln_f", "ln_f"}},
                 .blocks = "h",
                 .block_modules = {{"attn.c_attn", "self_attention.query_key_value"},
                                   {"attn.c_proj", "self_attention.dense"},
                                   {"mlp.c_fc", "mlp.dense_h_to_4h"},
                                   {"mlp.c_proj", "mlp.dense_4h_to_h"}}},
       .adjust_names =
           [](const GptConfig& c, GptNames& names) {
             const bool two = c.residual == GptResidual::parallel;
             names.block_modules.emplace_back("ln_1", two ? "ln_attn" : "input_layernorm");
             names.block_modules.emplace_back("ln_2", two ? "ln_mlp" : "post_attention_layernorm");
           },
       .token_scores = "classifier",
       .default_bos_id = 11}};
}

}  // namespace weft::hf
