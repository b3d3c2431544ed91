// Small decoder configurations that together cover every mechanism of GptConfig.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/models/families/gpt_config.h"

namespace weft {

struct Variant {
  std::string name;
  GptConfig config;
};

/// Returns configurations that cover every mechanism at least once and are small enough to run
/// quickly.
inline std::vector<Variant> variants() {
  GptConfig base;
  base.vocab = 23;
  base.layers = 2;
  base.heads = 4;
  base.width = 24;
  base.context = 16;
  base.initializer_range = 0.4;  // large enough for clearly non-uniform predictions
  GptConfig llama = GptConfig::llama();
  llama.vocab = base.vocab;
  llama.layers = base.layers;
  llama.heads = base.heads;
  llama.width = base.width;
  llama.context = base.context;
  llama.inner = 40;
  llama.initializer_range = base.initializer_range;
  std::vector<Variant> result = {{"gpt2", base}, {"llama", llama}};
  const auto add = [&](const std::string& name, GptConfig config,
                       const std::function<void(GptConfig&)>& change) {
    change(config);
    result.push_back({name, config});
  };
  add("grouped", llama, [](GptConfig& c) { c.kv_heads = 2; });
  add("llama_bias", llama, [](GptConfig& c) { c.attention_bias = c.tied_head = true; });
  add("window", llama, [](GptConfig& c) { c.window = 4; });
  add("neox", base, [](GptConfig& c) {
    c.residual = GptResidual::parallel;
    c.positions = GptPositions::rotary;
    c.rotary_share = 0.7;  // rotates 4 of 6 features per head
    c.projection = QkvProjection::fused_by_head;
    c.transposed = false;
  });
  add("head_dim", llama, [](GptConfig& c) {
    c.heads = 5;  // the width is not a multiple of 5
    c.head_dim = 8;
    c.mlp_bias = true;
  });
  add("linear_scaling", llama, [](GptConfig& c) {
    c.rotary_scaling = RotaryScalingKind::linear;
    c.rotary_factor = 4;
  });
  add("dynamic_scaling", llama, [](GptConfig& c) {
    c.rotary_scaling = RotaryScalingKind::dynamic;
    c.rotary_factor = 2;
    c.rotary_context = c.context;
  });
  add("llama3_scaling", llama, [](GptConfig& c) {
    c.rotary_scaling = RotaryScalingKind::llama3;
    c.rotary_factor = 8;
    c.rotary_context = c.context;
  });
  add("qk_norm", llama, [](GptConfig& c) {
    c.kv_heads = 2;
    c.qk_norm = true;
  });
  add("gpt1", base, [](GptConfig& c) { c.residual = GptResidual::post_norm; });
  add("alibi", base, [](GptConfig& c) { c.positions = GptPositions::linear_bias; });
  add("alibi_window", base, [](GptConfig& c) {
    c.positions = GptPositions::linear_bias;
    c.window = 5;
  });
  add("sinusoidal", base, [](GptConfig& c) { c.positions = GptPositions::sinusoidal; });
  add("no_positions", base, [](GptConfig& c) { c.positions = GptPositions::none; });
  add("gptj", base, [](GptConfig& c) {
    c.residual = GptResidual::parallel_one_norm;
    c.positions = GptPositions::rotary;
    c.rotary_share = 0.7;
    c.rotary_adjacent = c.head_bias = true;
    c.tied_head = c.transposed = false;
    c.projection = QkvProjection::fused_by_quarter;
  });
  add("falcon", base, [](GptConfig& c) {
    c.kv_heads = 2;
    c.positions = GptPositions::linear_bias;
    c.projection = QkvProjection::fused_by_head;
    c.linear_bias_max = 6;
    c.linear_bias_scale = 0.4;
    c.bias = false;
    c.norm_bias = c.embedding_norm = true;
  });
  add("phi3", llama, [](GptConfig& c) {
    c.kv_heads = 2;
    c.projection = QkvProjection::fused;
    c.fused_gate = c.qkv_bias = true;
    c.rotary_scaling = RotaryScalingKind::longrope;
    c.rotary_factor = 3;
    // Longer than all batches with padding: their padded length selects the factors.
    c.rotary_context = c.context + 8;
    c.rotary_short_factors = {1, 1.2, 1.5};
    c.rotary_long_factors = {2, 3, 4.5};
  });
  add("gemma2", llama, [](GptConfig& c) {
    c.residual = GptResidual::sandwich;
    c.norm_offset = true;
    c.embedding_multiplier = 4.9;
    c.attention_soft_cap = 2;
    c.logit_soft_cap = 3;
    c.attention_scale = 0.3;
    c.window = 4;
    c.window_layers = "10";
  });
  add("gemma3", llama, [](GptConfig& c) {
    c.residual = GptResidual::sandwich;
    c.qk_norm = c.norm_offset = true;
    c.window = 3;
    c.window_layers = "01";
    c.rotary_window_base = 50;
    c.rotary_scaling = RotaryScalingKind::linear;
    c.rotary_factor = 2;
  });
  add("cohere2", llama, [](GptConfig& c) {
    c.norm = GptNorm::layer_norm;
    c.residual = GptResidual::parallel_one_norm;
    c.qk_norm = c.rotary_adjacent = true;
    c.qk_norm_form = GptQkNorm::each_head;
    c.qk_norm_bias = false;
    c.logit_multiplier = 0.25;
    c.window = 5;
    c.window_layers = c.rotary_layers = "10";
  });
  add("olmo2", llama, [](GptConfig& c) {
    c.kv_heads = 2;
    c.residual = GptResidual::inner_post_norm;
    c.qk_norm = true;
    c.qk_norm_form = GptQkNorm::all_heads;
    c.clip_qkv = 0.8;
    c.attention_out_bias = true;
  });
  add("olmo", llama, [](GptConfig& c) {
    c.norm = GptNorm::layer_norm;
    c.norm_weights = false;
    c.activation = Activation::relu2;
    c.gated = false;
    c.residual_multiplier = 0.7;
  });
  add("opt", base, [](GptConfig& c) {
    c.position_offset = 2;
    c.masked_positions = true;
    c.embedding_width = 10;
    c.final_norm = false;
    c.activation = Activation::relu;
  });
  add("llama4", llama, [](GptConfig& c) {
    c.window = 5;
    c.window_chunks = c.rotary_adjacent = c.qk_norm = true;
    c.window_layers = c.rotary_layers = "10";
    c.qk_norm_form = GptQkNorm::unweighted;
    c.query_growth = 0.5;
    c.query_growth_context = 4;
    c.query_growth_offset = 1;
    c.query_growth_layers = "01";
    c.experts = 4;
    c.experts_per_token = 1;
    c.router_scores = RouterScores::sigmoid;
    c.normalize_experts = false;
    c.expert_input_weights = true;
    c.expert_layers = "01";
    c.expert_inner = 14;
    c.shared_inner = 14;
  });
  add("gpt_oss", llama, [](GptConfig& c) {
    c.kv_heads = 2;
    c.sinks = c.attention_bias = true;
    c.window = 4;
    c.window_layers = "10";
    c.rotary_scaling = RotaryScalingKind::yarn;
    c.rotary_factor = 4;
    c.rotary_context = 16;
    c.rotary_beta_fast = 3;
    c.rotary_truncate = false;
    c.experts = 4;
    c.expert_inner = 12;
    c.activation = Activation::quick_gelu;
    c.router_bias = c.expert_bias = true;
    c.expert_limit = 0.9;
    c.balancing_weight = 0.1;
  });
  add("deepseek", llama, [](GptConfig& c) {
    c.head_dim = 10;
    c.kv_rank = 9;
    c.query_rank = 11;
    c.latent_rotary = 4;
    c.value_dim = 7;
    c.latent_norm_eps = 1e-6;
    c.rotary_adjacent = true;
    c.rotary_scaling = RotaryScalingKind::yarn;
    c.rotary_factor = 4;
    c.rotary_context = 16;
    c.rotary_mscale = 0.7;
    c.rotary_mscale_all = 1.1;
    c.expert_layers = "01";
    c.experts = 8;
    c.experts_per_token = 3;
    c.expert_inner = 9;
    c.shared_inner = 18;
    c.router_scores = RouterScores::sigmoid;
    c.router_correction = true;
    c.router_groups = 4;
    c.router_groups_per_token = 2;
    c.router_group_score = RouterGroupScore::best_two;
    c.expert_scale = 1.7;
  });
  add("qwen2_moe", llama, [](GptConfig& c) {
    c.kv_rank = 9;
    c.latent_rotary = 2;
    c.experts = 5;
    c.shared_inner = 12;
    c.shared_gate = true;
    c.experts_transposed = false;
    c.router_z_weight = 0.01;
    c.router_correction = true;
    c.correction_speed = 0.1;
  });
  return result;
}

}  // namespace weft
