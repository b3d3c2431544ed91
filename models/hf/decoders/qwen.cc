// Qwen 2 and 3, dense and with mixtures of experts.
#include "weft/models/hf/decoders/keys.h"

namespace weft::hf {
namespace {

/// Defaults of the windows, which need use_sliding_window.
GptConfig qwen_with(void (*change)(GptConfig&)) {
  return llama_with([&](GptConfig& c) {
    c.vocab = 151936;
    c.inner = 22016;
    c.context = 32768;
    c.kv_heads = 32;
    c.window = 4096;
    change(c);
  });
}

/// Defaults and keys of the mixtures of experts.
void use_experts(GptConfig& c, std::int64_t experts, std::int64_t per_token, std::int64_t inner) {
  c.experts = experts;
  c.experts_per_token = per_token;
  c.expert_inner = inner;
  c.normalize_experts = false;
  c.experts_transposed = false;
  c.balancing_weight = 0.001;
}

template <class Config>
void expert_keys(Config& config, GptConfig& c) {
  config
      .field("num_experts", c.experts)
      // transformers 5 writes this name for Qwen3-MoE.
      .repeated("num_local_experts", "num_experts", c.experts)
      .field("num_experts_per_tok", c.experts_per_token)
      .field("moe_intermediate_size", c.expert_inner)
      .field("norm_topk_prob", c.normalize_experts);
  dense_layer_keys(config, c);
  balancing_keys(config, c);
  config.ignore({"max_window_layers"});
  optional_window_keys(config, c, "1");
}

GptNames expert_names(const ModuleNames& further = {}) {
  GptNames names = llama_names({{"mlp.router", "mlp.gate"}});
  names.block_modules.insert(names.block_modules.end(), further.begin(), further.end());
  names.layouts = separate_experts();
  return names;
}

}  // namespace

std::vector<GptType> qwen_types() {
  return {{.name = "qwen3",
           .prefix = "Qwen3",
           .defaults = qwen_with([](GptConfig& c) {
             c.head_dim = 128;
             c.qk_norm = true;
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 rotary_decoder_keys(config, c);
                 config.field("attention_bias", c.attention_bias);
                 late_window_keys(config, c);
               },
           .names = llama_names()},
          {.name = "qwen2",
           .prefix = "Qwen2",
           .defaults = qwen_with([](GptConfig& c) { c.qkv_bias = true; }),
           .keys =
               [](auto& config, GptConfig& c) {
                 rotary_decoder_keys(config, c);
                 late_window_keys(config, c);
               },
           .names = llama_names()},
          {.name = "qwen2_moe",
           .prefix = "Qwen2Moe",
           .defaults = qwen_with([](GptConfig& c) {
             c.width = 2048;
             c.inner = 5632;
             c.layers = 24;
             c.heads = c.kv_heads = 16;
             c.qkv_bias = true;
             use_experts(c, 60, 4, 1408);
             c.shared_inner = 5632;
             c.shared_gate = true;
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 rotary_decoder_keys(config, c);
                 config.field("qkv_bias", c.qkv_bias)
                     .field("shared_expert_intermediate_size", c.shared_inner);
                 expert_keys(config, c);
               },
           .names = expert_names({{"mlp.shared.gate", "mlp.shared_expert.gate_proj"},
                                  {"mlp.shared.c_fc", "mlp.shared_expert.up_proj"},
                                  {"mlp.shared.c_proj", "mlp.shared_expert.down_proj"},
                                  {"mlp.shared_gate", "mlp.shared_expert_gate"}})},
          {.name = "qwen3_moe",
           .prefix = "Qwen3Moe",
           .defaults = qwen_with([](GptConfig& c) {
             c.width = 2048;
             c.inner = 6144;
             c.layers = 24;
             c.heads = 32;
             c.kv_heads = 4;
             c.qk_norm = true;
             use_experts(c, 128, 8, 768);
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 rotary_decoder_keys(config, c);
                 config.field("attention_bias", c.attention_bias)
                     .fixed("shared_expert_intermediate_size", 0,
                            "Qwen 3 has no experts that are shared by all tokens")
                     .fixed("use_qk_norm", true, "Qwen 3 has norms of queries and keys");
                 expert_keys(config, c);
               },
           .names = expert_names()}};
}

}  // namespace weft::hf
