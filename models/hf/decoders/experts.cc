// Mixtures of experts: Mixtral, OLMoE, GPT-OSS, Llama 4. Those of Qwen are in qwen.cc.
#include <utility>

#include "weft/models/families/layer_pattern.h"
#include "weft/models/hf/decoders/keys.h"

namespace weft::hf {
namespace {

/// Llama 4: moe_layers, or else every interleave_moe_layer_step-th layer, has experts.
void llama4_expert_layer_keys(ConfigReader& config, GptConfig& c) {
  std::int64_t step = 1;
  config.field("interleave_moe_layer_step", step);
  // all_but_every() selects the other layers.
  std::string pattern = all_but_every(step, "interleave_moe_layer_step");
  for (char& layer : pattern) layer = layer == '1' ? '0' : '1';
  std::string listed(static_cast<std::size_t>(c.layers), '0');
  layer_list_key(config, c, "moe_layers", listed, true);
  c.expert_layers =
      shortest_pattern(config.find("moe_layers") == nullptr ? pattern : listed, c.layers);
}
void llama4_expert_layer_keys(ConfigWriter& config, const GptConfig& c) {
  layer_list_key(config, c, "moe_layers", c.expert_layers, true);
}

/// Llama 4: layers with a chunk have type "chunked_attention". By default these are the layers with
/// rotary positions.
template <class Config>
void llama4_chunk_keys(Config& config, GptConfig& c) {
  window_layer_keys(config, c, c.rotary_layers.empty() ? "1" : c.rotary_layers,
                    {.key = "attention_chunk_size", .kind = "chunked_attention"});
  c.window_chunks = c.window > 0;
}

/// Llama 4: without rotary positions, queries grow with the position.
template <class Config>
void llama4_growth_keys(Config& config, GptConfig& c) {
  bool grows = c.query_growth > 0;
  config.field("attn_temperature_tuning", grows)
      .field("attn_scale", c.query_growth)
      .field("floor_scale", c.query_growth_context);
  c.query_growth_layers = c.rotary_layers.empty() ? "0" : c.rotary_layers;
  for (char& layer : c.query_growth_layers) layer = layer == '1' ? '0' : '1';
  if (c.rotary_layers.empty()) grows = false;
  if (!grows) {
    c.query_growth = 0;
    c.query_growth_layers = "";
  }
}

/// GPT-OSS: its default scaling of positions.
void use_gpt_oss_positions(GptConfig& c) {
  c.rotary_base = 150000;
  c.rotary_scaling = RotaryScalingKind::yarn;
  c.rotary_factor = 32;
  c.rotary_context = 4096;
  c.rotary_truncate = false;
}

}  // namespace

std::vector<GptType> expert_types() {
  return {
      {.name = "mixtral",
       .prefix = "Mixtral",
       .defaults = llama_with([](GptConfig& c) {
         c.inner = 14336;
         c.kv_heads = 8;
         c.context = 4096 * 32;
         c.layer_norm_eps = 1e-5;
         c.rotary_base = 1e6;
         c.experts = 8;
         c.experts_transposed = false;
         c.balancing_weight = 0.001;
       }),
       .keys =
           [](auto& config, GptConfig& c) {
             rotary_decoder_keys(config, c);
             config.field("num_local_experts", c.experts)
                 .repeated("num_experts", "num_local_experts", c.experts)
                 .field("num_experts_per_tok", c.experts_per_token)
                 .fixed("router_jitter_noise", 0, "noise in the router is not supported");
             balancing_keys(config, c);
             window_key(config, c);
           },
       .names =
           [] {
             GptNames names = llama_names({{"mlp.router", "block_sparse_moe.gate"}});
             names.layouts = separate_experts("block_sparse_moe.experts", "w1", "w3", "w2");
             return names;
           }(),
       .default_bos_id = 1},
      {.name = "olmoe",
       .prefix = "Olmoe",
       .defaults = llama_with([](GptConfig& c) {
         c.vocab = 50304;
         c.width = c.inner = 2048;
         c.layers = c.heads = 16;
         c.context = 4096;
         c.layer_norm_eps = 1e-5;
         c.qk_norm = true;
         c.qk_norm_form = GptQkNorm::all_heads;
         c.padding_id = 1;
         c.experts = 64;
         c.experts_per_token = 8;
         c.normalize_experts = false;
         c.experts_transposed = false;
         c.balancing_weight = 0.01;
       }),
       .keys =
           [](auto& config, GptConfig& c) {
             rotary_decoder_keys(config, c);
             config.field("num_experts", c.experts)
                 .repeated("num_local_experts", "num_experts", c.experts)
                 .field("num_experts_per_tok", c.experts_per_token)
                 .field("norm_topk_prob", c.normalize_experts)
                 .field("attention_bias", c.attention_bias)
                 .optional_number("clip_qkv", c.clip_qkv);
             balancing_keys(config, c);
           },
       .names =
           [] {
             GptNames names = llama_names({{"mlp.router", "mlp.gate"}});
             names.layouts = separate_experts();
             return names;
           }(),
       .token_scores = "",
       .has_sequence_classifier = false},
      {.name = "gpt_oss",
       .prefix = "GptOss",
       .defaults = llama_with([](GptConfig& c) {
         c.vocab = 201088;
         c.width = c.inner = 2880;
         c.layers = 36;
         c.heads = 64;
         c.kv_heads = 8;
         c.head_dim = 64;
         c.context = 131072;
         c.activation = Activation::quick_gelu;
         c.layer_norm_eps = 1e-5;
         c.attention_bias = true;
         c.sinks = true;
         c.window = 128;
         use_gpt_oss_positions(c);
         c.experts = 128;
         c.experts_per_token = 4;
         c.router_bias = true;
         c.expert_bias = true;
         c.expert_limit = 7;
         c.balancing_weight = 0.9;
       }),
       .keys =
           [](auto& config, GptConfig& c) {
             const Activation activation = c.activation;
             rotary_decoder_keys(config, c, "rms_norm_eps", false, true);
             c.activation = activation;  // hidden_act is not read
             config.field("attention_bias", c.attention_bias)
                 .field("num_local_experts", c.experts)
                 .repeated("num_experts", "num_local_experts", c.experts)
                 .field("num_experts_per_tok", c.experts_per_token)
                 .repeated("experts_per_token", "num_experts_per_tok", c.experts_per_token)
                 .field("swiglu_limit", c.expert_limit)
                 .fixed("swiglu_alpha", 1.702, "only the factor 1.702 is supported")
                 .ignore({"initial_context_length"});
             balancing_keys(config, c);
             window_layer_keys(config, c, "10");
           },
       .names =
           [] {
             GptNames names =
                 llama_names({{"attn.sinks", "self_attn.sinks"},
                              {"mlp.router", "mlp.router"},
                              {"mlp.experts.down", "mlp.experts.down_proj"},
                              {"mlp.experts.down_bias", "mlp.experts.down_proj_bias"}});
             for (const char* suffix : {"", "_bias"}) {
               for (FileLayout& layout : fused_experts("mlp.experts.gate_up_proj", true, suffix))
                 names.layouts.push_back(std::move(layout));
             }
             return names;
           }()},
      {.name = "llama4_text",
       .prefix = "Llama4Text",
       .defaults = llama_with([](GptConfig& c) {
         c.vocab = 202048;
         c.width = 5120;
         c.inner = 16384;
         c.layers = 48;
         c.heads = 40;
         c.kv_heads = 8;
         c.head_dim = 128;
         c.context = 4096 * 32;
         c.layer_norm_eps = 1e-5;
         c.qk_norm = true;
         c.qk_norm_form = GptQkNorm::unweighted;
         c.window = 8192;
         c.query_growth = 0.1;
         c.query_growth_offset = 1;
         c.rotary_base = 500000;
         c.rotary_adjacent = true;
         c.experts = 16;
         c.experts_per_token = 1;
         c.expert_inner = c.shared_inner = 8192;
         c.router_scores = RouterScores::sigmoid;
         c.normalize_experts = false;
         c.expert_input_weights = true;
       }),
       .keys =
           [](auto& config, GptConfig& c) {
             std::int64_t inner = c.inner;
             c.inner = c.expert_inner;
             const double growth = c.query_growth;
             c.query_growth = 0;  // not part of the settings of rotary positions
             rotary_decoder_keys(config, c);
             c.query_growth = growth;
             c.expert_inner = c.shared_inner = c.inner;
             config.field("intermediate_size_mlp", inner)
                 .field("attention_bias", c.attention_bias)
                 .field("num_local_experts", c.experts)
                 .repeated("num_experts", "num_local_experts", c.experts)
                 .field("num_experts_per_tok", c.experts_per_token)
                 .field("use_qk_norm", c.qk_norm)
                 .fixed("router_jitter_noise", 0, "noise in the router is not supported")
                 // The class has no load-balancing loss.
                 .ignore({"cache_implementation", "for_llm_compressor", "output_router_logits",
                          "router_aux_loss_coef"});
             c.inner = inner;
             c.qk_norm_form = c.qk_norm ? GptQkNorm::unweighted : GptQkNorm::head;
             llama4_expert_layer_keys(config, c);
             rotary_layer_keys(config, c);
             llama4_chunk_keys(config, c);
             llama4_growth_keys(config, c);
           },
       .names =
           [] {
             GptNames names =
                 llama_names({{"mlp.gate", "feed_forward.gate_proj"},
                              {"mlp.c_fc", "feed_forward.up_proj"},
                              {"mlp.c_proj", "feed_forward.down_proj"},
                              {"mlp.router", "feed_forward.router"},
                              {"mlp.experts.down", "feed_forward.experts.down_proj"},
                              {"mlp.shared.gate", "feed_forward.shared_expert.gate_proj"},
                              {"mlp.shared.c_fc", "feed_forward.shared_expert.up_proj"},
                              {"mlp.shared.c_proj", "feed_forward.shared_expert.down_proj"}});
             names.layouts = fused_experts("feed_forward.experts.gate_up_proj", false);
             return names;
           }(),
       .token_scores = "",
       .has_sequence_classifier = false,
       .default_bos_id = 1,
       .language_model_prefix = "Llama4"}};
}

}  // namespace weft::hf
