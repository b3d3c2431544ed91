// Types with parallel blocks, fused matrices or layer norms: Phi, Cohere, StableLM, StarCoder 2.
#include "weft/models/hf/decoders/keys.h"

namespace weft::hf {
namespace {

/// Defaults of decoders with layer norms and rotary positions.
GptConfig layer_norm_with(void (*change)(GptConfig&)) {
  return llama_with([&](GptConfig& c) {
    c.norm = GptNorm::layer_norm;
    c.layer_norm_eps = 1e-5;
    change(c);
  });
}

GptConfig cohere_defaults() {
  return layer_norm_with([](GptConfig& c) {
    c.vocab = 256000;
    c.width = 8192;
    c.inner = 22528;
    c.layers = 40;
    c.heads = 64;
    c.context = 8192;
    c.tied_head = true;
    c.residual = GptResidual::parallel_one_norm;
    c.rotary_adjacent = true;
    c.logit_multiplier = 0.0625;
    c.padding_id = 0;
  });
}

template <class Config>
void cohere_keys(Config& config, GptConfig& c) {
  rotary_decoder_keys(config, c, "layer_norm_eps");
  config.field("attention_bias", c.attention_bias).field("logit_scale", c.logit_multiplier);
}

/// Norms of queries and keys with separate weights for each head.
template <class Config>
void each_head_norm_key(Config& config, GptConfig& c, const char* key) {
  config.field(key, c.qk_norm);
  c.qk_norm_form = c.qk_norm ? GptQkNorm::each_head : GptQkNorm::head;
  c.qk_norm_bias = !c.qk_norm;
}

GptNames stablelm_names() {
  GptNames names = llama_names();
  names.layouts = {
      {.ours = "attn.query_norm.weight", .theirs = "self_attn.q_layernorm.norms.*.weight"},
      {.ours = "attn.key_norm.weight", .theirs = "self_attn.k_layernorm.norms.*.weight"}};
  return names;
}

GptNames phi_names() {
  GptNames names = llama_names({{"attn.c_proj", "self_attn.dense"},
                                {"attn.query_norm", "self_attn.q_layernorm"},
                                {"attn.key_norm", "self_attn.k_layernorm"},
                                {"mlp.c_fc", "mlp.fc1"},
                                {"mlp.c_proj", "mlp.fc2"}});
  names.modules = {{"wte", "embed_tokens"}, {"ln_f", "final_layernorm"}};
  return names;
}

}  // namespace

std::vector<GptType> parallel_types() {
  return {{.name = "phi",
           .prefix = "Phi",
           .defaults = layer_norm_with([](GptConfig& c) {
             c.vocab = 51200;
             c.width = 2048;
             c.inner = 8192;
             c.layers = 24;
             c.activation = Activation::gelu_tanh;
             c.gated = false;
             c.bias = true;
             c.head_bias = true;
             c.residual = GptResidual::parallel_one_norm;
             c.rotary_share = 0.5;
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 rotary_decoder_keys(config, c, "layer_norm_eps", true);
                 config.field("qk_layernorm", c.qk_norm)
                     .field("embd_pdrop", c.embedding_dropout)
                     .field("resid_pdrop", c.residual_dropout);
               },
           .names = phi_names(),
           .default_bos_id = 1},
          {.name = "phi3",
           .prefix = "Phi3",
           .defaults = llama_with([](GptConfig& c) {
             c.vocab = 32064;
             c.width = 3072;
             c.inner = 8192;
             c.context = 4096;
             c.layer_norm_eps = 1e-5;
             c.fused_gate = true;
             c.projection = QkvProjection::fused;
             c.rotary_context = 4096;
             c.padding_id = 32000;
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 rotary_decoder_keys(config, c, "rms_norm_eps", true);
                 config.field("embd_pdrop", c.embedding_dropout)
                     .field("resid_pdrop", c.residual_dropout)
                     .fixed("attention_bias", false, "Phi-3 has no biases")
                     .fixed("mlp_bias", false, "Phi-3 has no biases")
                     .ignore({"full_attn_mod", "interpolate_factor"});  // of Phi-4-mini; not read
                 window_key(config, c);
               },
           .names = llama_names(
               {{"attn.c_attn", "self_attn.qkv_proj"}, {"mlp.gate_up", "mlp.gate_up_proj"}}),
           .default_bos_id = 1},
          {.name = "cohere",
           .prefix = "Cohere",
           .defaults = cohere_defaults(),
           .keys =
               [](auto& config, GptConfig& c) {
                 cohere_keys(config, c);
                 each_head_norm_key(config, c, "use_qk_norm");
               },
           .names = llama_names(),
           .token_scores = "",
           .has_sequence_classifier = false,
           .default_bos_id = 5},
          {.name = "cohere2",
           .prefix = "Cohere2",
           .defaults =
               [] {
                 GptConfig c = cohere_defaults();
                 c.window = 4096;
                 return c;
               }(),
           .keys =
               [](auto& config, GptConfig& c) {
                 cohere_keys(config, c);
                 window_interval_keys(config, c, 4);
                 // Only layers with the window have rotary positions.
                 c.rotary_layers = c.window > 0 ? c.window_layers : "0";
                 config
                     .fixed("use_qk_norm", false, "Cohere 2 has no norms of queries and keys")
                     // Published files contain these, but transformers does not read them.
                     .fixed("order_of_interleaved_layers", "local_attn_first",
                            "in Cohere 2, the layers with the window come first")
                     .fixed("position_embedding_type", "rope_gptj",
                            "Cohere 2 rotates adjacent features")
                     .fixed("rotary_pct", 1, "Cohere 2 rotates all features of a head")
                     .fixed("use_gated_activation", true, "Cohere 2 has gates")
                     .fixed("use_parallel_block", true, "Cohere 2 has parallel blocks")
                     .ignore({"cache_implementation", "layer_switch", "use_embedding_sharing",
                              "use_parallel_embedding"});
               },
           .names = llama_names(),
           .token_scores = "",
           .has_sequence_classifier = false,
           .default_bos_id = 5},
          {.name = "stablelm",
           .prefix = "StableLm",
           .defaults = layer_norm_with([](GptConfig& c) {
             c.vocab = 50304;
             c.width = 2560;
             c.inner = 6912;
             c.kv_heads = 32;
             c.context = 4096;
             c.norm_bias = true;
             c.rotary_share = 0.25;
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 rotary_decoder_keys(config, c, "layer_norm_eps", true);
                 bool parallel = c.residual == GptResidual::parallel_one_norm;
                 config.field("use_qkv_bias", c.qkv_bias)
                     .field("hidden_dropout", c.residual_dropout)
                     .field("use_parallel_residual", parallel);
                 c.residual = parallel ? GptResidual::parallel_one_norm : GptResidual::pre_norm;
                 each_head_norm_key(config, c, "qk_layernorm");
               },
           .names = stablelm_names(),
           .default_bos_id = 0},
          {.name = "starcoder2",
           .prefix = "Starcoder2",
           .defaults = layer_norm_with([](GptConfig& c) {
             c.vocab = 49152;
             c.width = 3072;
             c.inner = 12288;
             c.layers = 30;
             c.heads = 24;
             c.kv_heads = 2;
             c.context = 4096;
             c.activation = Activation::gelu_tanh;
             c.gated = false;
             c.bias = true;
             c.norm_bias = true;
             c.tied_head = true;
             c.initializer_range = 0.018042;
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 rotary_decoder_keys(config, c, "norm_epsilon");
                 config.field("use_bias", c.bias)
                     .field("embedding_dropout", c.embedding_dropout)
                     .field("residual_dropout", c.residual_dropout)
                     .fixed("mlp_type", "default", "StarCoder 2 has no gates")
                     .fixed("norm_type", "layer_norm", "StarCoder 2 has layer norms");
                 window_key(config, c);
               },
           .names = llama_names({{"mlp.c_fc", "mlp.c_fc"}, {"mlp.c_proj", "mlp.c_proj"}}),
           .default_bos_id = 50256}};
}

}  // namespace weft::hf
