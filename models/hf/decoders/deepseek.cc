// DeepSeek V2 and V3: latent attention, experts in groups.
#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/models/families/layer_pattern.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/hf/decoders/keys.h"

namespace weft::hf {
namespace {

GptConfig deepseek_with(void (*change)(GptConfig&)) {
  return llama_with([&](GptConfig& c) {
    c.kv_rank = 512;
    c.query_rank = 1536;
    c.latent_rotary = 64;
    c.head_dim = 128 + 64;
    c.value_dim = 128;
    c.latent_norm_eps = 1e-6;  // whatever rms_norm_eps is
    c.rotary_adjacent = true;
    c.experts_transposed = false;
    change(c);
  });
}

/// Keys of latent attention. The size of a head is that of its two parts.
template <class Config>
void latent_keys(Config& config, GptConfig& c) {
  std::int64_t unrotated = c.head_size() - c.latent_rotary, heads = c.heads;
  decoder_keys(config, c);
  heads = c.heads;
  config.field("rms_norm_eps", c.layer_norm_eps)
      .field("rope_theta", c.rotary_base)
      .optional_id("pad_token_id", c.padding_id)
      .field("attention_bias", c.attention_bias)
      .field("kv_lora_rank", c.kv_rank)
      .optional_number("q_lora_rank", c.query_rank)
      .field("qk_nope_head_dim", unrotated)
      .field("qk_rope_head_dim", c.latent_rotary)
      .field("v_head_dim", c.value_dim)
      .repeated("num_key_value_heads", "num_attention_heads", heads)
      .repeated("head_dim", "qk_rope_head_dim", c.latent_rotary);
  c.head_dim = unrotated;
  check_sizes(config, c);
  c.head_dim += c.latent_rotary;
  c.kv_heads = 0;
}
/// The first layers are dense.
void dense_start_key(ConfigReader& config, GptConfig& c, std::int64_t first) {
  config.field("first_k_dense_replace", first);
  std::string pattern;
  for (std::int64_t i = 0; i < c.layers; ++i) pattern += i < first ? '0' : '1';
  c.expert_layers = shortest_pattern(pattern, c.layers);
}
void dense_start_key(ConfigWriter& config, const GptConfig& c, std::int64_t) {
  std::int64_t first = 0;
  while (first < c.layers && !c.has_experts(first)) ++first;
  config.field("first_k_dense_replace", first);
}

/// Keys of the experts. n_shared_experts counts experts of the same width.
template <class Config>
void expert_keys(Config& config, GptConfig& c, std::int64_t dense) {
  std::int64_t shared = c.shared_inner / c.expert_width();
  config.field("n_routed_experts", c.experts)
      .field("num_experts_per_tok", c.experts_per_token)
      .field("moe_intermediate_size", c.expert_inner)
      .optional_number("n_shared_experts", shared)
      .field("routed_scaling_factor", c.expert_scale)
      .fixed("moe_layer_freq", 1, "only the first layers can be dense")
      .fixed("ep_size", 1, "experts on several devices are not supported")
      .ignore({"aux_loss_alpha", "num_nextn_predict_layers", "output_router_logits",
               "router_aux_loss_coef", "seq_aux"});
  check_sizes(config, c);
  if (shared < 0 || shared > size_limits::kExperts)
    throw ArgumentError(fmt::format("config.json: n_shared_experts must be in [0, {}], not {}",
                                    size_limits::kExperts, shared));
  c.shared_inner = shared * c.expert_inner;
  dense_start_key(config, c, dense);
}

GptNames deepseek_names() {
  GptNames names = llama_names({{"attn.query_down", "self_attn.q_a_proj"},
                                {"attn.query_down_norm", "self_attn.q_a_layernorm"},
                                {"attn.query_up", "self_attn.q_b_proj"},
                                {"attn.kv_down", "self_attn.kv_a_proj_with_mqa"},
                                {"attn.kv_down_norm", "self_attn.kv_a_layernorm"},
                                {"attn.kv_up", "self_attn.kv_b_proj"},
                                {"mlp.router", "mlp.gate"},
                                {"mlp.router.correction", "mlp.gate.e_score_correction_bias"},
                                {"mlp.shared.gate", "mlp.shared_experts.gate_proj"},
                                {"mlp.shared.c_fc", "mlp.shared_experts.up_proj"},
                                {"mlp.shared.c_proj", "mlp.shared_experts.down_proj"}});
  names.layouts = separate_experts();
  return names;
}

/// Without groups, the keys of the groups are null and have no effect.
template <class Config>
void v2_group_keys(Config& config, GptConfig& c) {
  std::string method = c.router_groups > 1 ? "group_limited_greedy" : "greedy";
  config.field("topk_method", method)
      .field("n_group", c.router_groups)
      .field("topk_group", c.router_groups_per_token)
      .fixed("scoring_func", "softmax", "V2 has softmax scores");
  if (method == "greedy") {
    c.router_groups = c.router_groups_per_token = 1;
  } else {
    config.fixed("topk_method", "group_limited_greedy",
                 "supported are greedy and group_limited_greedy");
  }
}

/// In transformers, the scale of V2's scores does not depend on the scaling of positions, so only
/// the factor of the cosines and sines is kept.
void v2_scaling(ConfigReader&, GptConfig& c) {
  if (c.rotary_mscale != 0 && c.rotary_mscale_all != 0 && c.rotary_attention_factor == 0) {
    const auto factor = [&](double weight) { return 0.1 * weight * std::log(c.rotary_factor) + 1; };
    c.rotary_attention_factor = factor(c.rotary_mscale) / factor(c.rotary_mscale_all);
  }
  c.rotary_mscale = c.rotary_mscale_all = 0;
}
void v2_scaling(ConfigWriter&, const GptConfig&) {}

}  // namespace

std::vector<GptType> deepseek_types() {
  return {{.name = "deepseek_v2",
           .prefix = "DeepseekV2",
           .defaults = deepseek_with([](GptConfig& c) {
             c.experts = 64;
             c.expert_inner = 1407;
             c.shared_inner = 2 * 1407;
             c.normalize_experts = false;
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 latent_keys(config, c);
                 expert_keys(config, c, 0);
                 v2_group_keys(config, c);
                 config
                     .fixed("mlp_bias", false, "biases in feed-forward blocks are not supported")
                     // transformers never normalises the weights of V2's experts.
                     .ignore({"norm_topk_prob"});
                 rotary_keys(config, c);
                 v2_scaling(config, c);
               },
           .names = deepseek_names(),
           .token_scores = "",
           .default_bos_id = 1},
          {.name = "deepseek_v3",
           .prefix = "DeepseekV3",
           .defaults = deepseek_with([](GptConfig& c) {
             c.vocab = 129280;
             c.width = 7168;
             c.inner = 18432;
             c.layers = 61;
             c.heads = 128;
             c.context = 4096;
             c.experts = 256;
             c.experts_per_token = 8;
             c.expert_inner = c.shared_inner = 2048;
             c.router_scores = RouterScores::sigmoid;
             c.expert_scale = 2.5;
             c.router_groups = 8;
             c.router_groups_per_token = 4;
             c.router_group_score = RouterGroupScore::best_two;
             c.router_correction = true;
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 latent_keys(config, c);
                 expert_keys(config, c, 3);
                 config.field("norm_topk_prob", c.normalize_experts)
                     .field("n_group", c.router_groups)
                     .field("topk_group", c.router_groups_per_token)
                     .field("rope_interleave", c.rotary_adjacent)
                     .fixed("topk_method", "noaux_tc", "V3 chooses experts with noaux_tc")
                     .fixed("scoring_func", "sigmoid", "V3 has sigmoid scores")
                     .ignore({"qk_head_dim"});  // the sum of qk_nope_head_dim and qk_rope_head_dim
                 rotary_keys(config, c);
               },
           .names = deepseek_names(),
           // Published files contain a further layer, which predicts the token after the next one.
           .adjust_names =
               [](const GptConfig& c, GptNames& names) {
                 names.unused.push_back(fmt::format("layers.{}.*", c.layers));
               },
           .default_bos_id = 0}};
}

}  // namespace weft::hf
