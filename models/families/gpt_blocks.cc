// Construction of the blocks of a Gpt: the layers that the fields of its config select.
#include <cmath>

#include "weft/models/families/gpt.h"
#include "weft/models/layers/attention/positions.h"

namespace weft {
namespace {

LinearOptions block_linear(const GptConfig& config, double std, bool bias) {
  return {.bias = bias,
          .weight_layout = config.transposed ? LinearLayout::in_out : LinearLayout::out_in,
          .initializer = Initializer::normal(std)};
}

/// Standard deviation of the initial projections into the residual stream.
double output_std(const GptConfig& c) {
  return c.initializer_range / std::sqrt(2.0 * static_cast<double>(c.layers));
}

NormLayerOptions norm_options(const GptConfig& c) {
  return {.eps = c.layer_norm_eps,
          .bias = c.bias || c.norm_bias,
          .rms = c.norm == GptNorm::rms_norm,
          .weights = c.norm_weights,
          .offset = c.norm_offset};
}

/// Returns the factor of the attention scores in a layer.
double score_scale(const GptConfig& c, std::int64_t layer) {
  double scale = c.scale_attention ? 1 / std::sqrt(static_cast<double>(c.head_size())) : 1.0;
  if (c.kv_rank > 0) scale *= yarn_score_factor(c.scaling());
  if (c.attention_scale != 0) scale = c.attention_scale;
  return c.scale_attention_by_inverse_layer ? scale / static_cast<double>(layer + 1) : scale;
}

/// Adds the norms of queries and keys to the options of a layer.
void add_qk_norms(const GptConfig& c, const Scope& scope, std::int64_t layer,
                  SelfAttentionOptions& attention) {
  NormLayerOptions options = norm_options(c);
  options.bias = options.bias && c.qk_norm_bias;
  const bool all = c.qk_norm_form == GptQkNorm::all_heads;
  if (c.qk_norm_form == GptQkNorm::unweighted) {
    if (!c.has_rotary(layer)) return;
    options = {.eps = c.layer_norm_eps, .rms = true, .weights = false};
    attention.norm_after_rotary = true;
  }
  const auto norm = [&](const char* name, std::int64_t heads) {
    if (c.qk_norm_form == GptQkNorm::each_head) options.heads = heads;
    return weft::make_norm(scope / name, DType::f32, all ? heads * c.head_size() : c.head_size(),
                           options);
  };
  attention.norm_all_heads = all;
  attention.query_norm = norm("query_norm", c.heads);
  attention.key_norm = norm("key_norm", c.key_heads());
}

}  // namespace

Norm Gpt::make_norm(const Scope& scope) const {
  return weft::make_norm(scope, DType::f32, config_.width, norm_options(config_));
}

SelfAttention Gpt::make_attention(const Scope& scope, std::int64_t index) const {
  const GptConfig& c = config_;
  const bool biases = c.bias || c.attention_bias;
  SelfAttentionOptions attention{.heads = c.heads,
                                 .kv_heads = c.kv_heads,
                                 .head_size = c.head_size(),
                                 .causal = c.causal,
                                 .window = c.has_window(index) ? c.window : 0,
                                 .window_chunks = c.window_chunks && c.has_window(index),
                                 .scale = score_scale(c, index),
                                 .soft_cap = c.attention_soft_cap,
                                 .sinks = c.sinks,
                                 .projection = c.projection,
                                 .clip = c.clip_qkv,
                                 .rotary = c.has_rotary(index) ? c.rotary_size() : 0,
                                 .rotary_base = c.rotary_base,
                                 .rotary_scaling = c.scaling(),
                                 .rotary_adjacent = c.rotary_adjacent,
                                 .linear_bias = c.positions == GptPositions::linear_bias,
                                 .linear_bias_max = c.linear_bias_max,
                                 .linear_bias_scale = c.linear_bias_scale};
  if (c.rotary_window_base != 0 && c.has_window(index)) {
    attention.rotary_base = c.rotary_window_base;
    attention.rotary_scaling = {};
  }
  if (c.has_query_growth(index))
    attention.query_growth = {c.query_growth, c.query_growth_context, c.query_growth_offset};
  if (c.kv_rank > 0) {
    NormLayerOptions norm = norm_options(c);
    if (c.latent_norm_eps != 0) norm.eps = c.latent_norm_eps;
    attention.latent = {c.kv_rank, c.query_rank, c.value_size(), norm};
  }
  attention.in = block_linear(c, c.initializer_range, biases || c.qkv_bias);
  attention.out = block_linear(c, output_std(c), biases || c.attention_out_bias);
  if (c.qk_norm) add_qk_norms(c, scope, index, attention);
  return make_self_attention(scope, DType::f32, c.width, attention);
}

std::variant<FeedForward, MixtureOfExperts> Gpt::make_mlp(const Scope& scope,
                                                          std::int64_t index) const {
  const GptConfig& c = config_;
  const double std = c.initializer_range, out_std = output_std(c);
  const bool biases = c.bias || c.mlp_bias;
  if (!c.has_experts(index)) {
    return make_feed_forward(scope, DType::f32, c.width,
                             {.inner = c.inner_width(),
                              .activation = c.activation,
                              .up = block_linear(c, std, biases),
                              .down = block_linear(c, out_std, biases),
                              .gated = c.gated,
                              .fused_gate = c.fused_gate});
  }
  return make_mixture_of_experts(
      scope, DType::f32, c.width,
      {.experts = c.experts,
       .experts_per_token = c.experts_per_token,
       .scores = c.router_scores,
       .normalize_weights = c.normalize_experts,
       .scale = c.expert_scale,
       .weights_on_input = c.expert_input_weights,
       .router_bias = c.router_bias,
       .groups = c.router_groups,
       .groups_per_token = c.router_groups_per_token,
       .group_score = c.router_group_score,
       .correction = c.router_correction,
       .correction_speed = c.correction_speed,
       .inner = c.expert_width(),
       .activation = c.activation,
       .gated = c.gated,
       .bias = c.expert_bias,
       .limit = c.expert_limit,
       .weight_layout = c.experts_transposed ? LinearLayout::in_out : LinearLayout::out_in,
       .shared_inner = c.shared_inner,
       .shared_gate = c.shared_gate,
       .initializer = Initializer::normal(std),
       .down_initializer = Initializer::normal(out_std)});
}

Gpt::Block Gpt::make_block(const Scope& scope, std::int64_t index) const {
  const auto norm = [&](const char* name) { return make_norm(scope / name); };
  const bool sandwich = config_.residual == GptResidual::sandwich;
  const Norm ln_1 = norm("ln_1");
  const SelfAttention attn = make_attention(scope / "attn", index);
  std::optional<Norm> ln_1_post, ln_2, ln_2_post;
  if (sandwich) ln_1_post = norm("ln_1_post");
  if (config_.residual != GptResidual::parallel_one_norm) ln_2 = norm("ln_2");
  const auto mlp = make_mlp(scope / "mlp", index);
  if (sandwich) ln_2_post = norm("ln_2_post");
  return {ln_1, attn, ln_1_post, ln_2, mlp, ln_2_post};
}

}  // namespace weft
