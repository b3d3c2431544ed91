// Types that differ from LLaMA mainly in their norms: Gemma, OLMo, GLM-4, EXAONE 4, Nemotron.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/hf/decoders/keys.h"

namespace weft::hf {
namespace {

GptConfig gemma_with(void (*change)(GptConfig&)) {
  return llama_with([&](GptConfig& c) {
    c.vocab = 256000;
    c.head_dim = 256;
    c.context = 8192;
    c.activation = Activation::gelu_tanh;
    c.tied_head = true;
    c.padding_id = 0;
    c.norm_offset = true;
    change(c);
  });
}

/// Keys of all Gemmas.
template <class Config>
void gemma_keys(Config& config, GptConfig& c) {
  rotary_decoder_keys(config, c);
  config.field("attention_bias", c.attention_bias).ignore({"cache_implementation"});
  c.embedding_multiplier = std::sqrt(static_cast<double>(c.width));
}
template <class Config>
void causal_keys(Config& config) {
  config.fixed("use_bidirectional_attention", false,
               "attention to later tokens is supported only in gemma3_text");
}

/// Gemma 3. In bidirectional models (EmbeddingGemma), sliding_window is the size of the window on
/// both sides together.
void gemma3_window_keys(ConfigReader& config, GptConfig& c) {
  bool bidirectional = false;
  config.field("use_bidirectional_attention", bidirectional);
  c.causal = !bidirectional;
  window_interval_keys(config, c, 6);
  if (bidirectional && c.window > 0) c.window = c.window / 2 + 1;
}
void gemma3_window_keys(ConfigWriter& config, const GptConfig& c) {
  GptConfig file = c;
  if (!c.causal && c.window > 0) file.window = std::max<std::int64_t>(2 * (c.window - 1), 1);
  config.field("use_bidirectional_attention", !c.causal);
  window_interval_keys(config, file, 6);
}

/// Keys of Gemma 2 and 3. query_pre_attn_scalar is 1 / scale^2.
template <class Config>
void gemma2_keys(Config& config, GptConfig& c) {
  const Activation activation = c.activation;
  gemma_keys(config, c);
  c.activation = activation;  // hidden_act is not read
  config.field("hidden_activation", c.activation)
      .optional_number("attn_logit_softcapping", c.attention_soft_cap)
      .optional_number("final_logit_softcapping", c.logit_soft_cap)
      .converted(
          "query_pre_attn_scalar",
          [&](const json& value) {
            double size = 256;
            read_json(value, "query_pre_attn_scalar", size);
            c.attention_scale = 1 / std::sqrt(size);
          },
          [&]() -> json {
            const double size = 1 / (c.attention_scale * c.attention_scale);
            // Undoes the rounding of the square root.
            return std::abs(size - std::round(size)) < 1e-9 * size ? json(std::llround(size))
                                                                   : json(size);
          });
}

GptNames sandwich_names(const char* after_attention, const char* before, const char* after) {
  return llama_names({{"ln_1_post", after_attention}, {"ln_2", before}, {"ln_2_post", after}});
}

GptNames gemma2_names() {
  return sandwich_names("post_attention_layernorm", "pre_feedforward_layernorm",
                        "post_feedforward_layernorm");
}

GptNames inner_post_norm_names() {
  return llama_names(
      {{"ln_1", "post_attention_layernorm"}, {"ln_2", "post_feedforward_layernorm"}});
}

/// EXAONE 4: every sliding_window_pattern-th layer has full attention. Only layers with a window
/// have rotary positions, if there is a window.
void exaone_window_keys(ConfigReader& config, GptConfig& c) {
  std::int64_t every = 4;
  if (const json* pattern = config.find("sliding_window_pattern");
      pattern != nullptr && pattern->is_string()) {
    if (config.find("layer_types") == nullptr)
      throw ArgumentError(
          "config.json: sliding_window_pattern is a text, which needs layer_types: add "
          "layer_types");
  } else {
    config.field("sliding_window_pattern", every);
  }
  std::int64_t window = c.window;
  config.optional_id("sliding_window", window);
  window_layer_keys(config, c, window > 0 ? all_but_every(every, "sliding_window_pattern") : "0");
  c.rotary_layers = window > 0 ? (c.window > 0 ? c.window_layers : "0") : "";
}
void exaone_window_keys(ConfigWriter& config, const GptConfig& c) {
  window_layer_keys(config, c, {});
}

}  // namespace

std::vector<GptType> norm_types() {
  return {{.name = "gemma",
           .prefix = "Gemma",
           .defaults = gemma_with([](GptConfig& c) {
             c.width = 3072;
             c.inner = 24576;
             c.layers = 28;
             c.heads = c.kv_heads = 16;
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 gemma_keys(config, c);
                 causal_keys(config);
                 config.legacy("hidden_activation", "hidden_act", c.activation);
               },
           .names = llama_names(),
           .default_bos_id = 2},
          {.name = "gemma2",
           .prefix = "Gemma2",
           .defaults = gemma_with([](GptConfig& c) {
             c.width = 2304;
             c.inner = 9216;
             c.layers = 26;
             c.heads = 8;
             c.kv_heads = 4;
             c.residual = GptResidual::sandwich;
             c.window = 4096;
             c.attention_scale = 1.0 / 16;
             c.attention_soft_cap = 50;
             c.logit_soft_cap = 30;
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 gemma2_keys(config, c);
                 causal_keys(config);
                 window_layer_keys(config, c, "10");
                 config.ignore({"sliding_window_size"});  // repeats sliding_window; not read
               },
           .names = gemma2_names(),
           .default_bos_id = 2},
          {.name = "gemma3_text",
           .prefix = "Gemma3Text",
           .defaults = gemma_with([](GptConfig& c) {
             c.vocab = 262208;
             c.width = 2304;
             c.inner = 9216;
             c.layers = 26;
             c.heads = 8;
             c.kv_heads = 4;
             c.context = 131072;
             c.residual = GptResidual::sandwich;
             c.qk_norm = true;
             c.window = 4096;
             c.attention_scale = 1.0 / 16;
             c.rotary_base = 1e6;
             c.rotary_window_base = 10000;
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 config.field("rope_local_base_freq", c.rotary_window_base);
                 gemma2_keys(config, c);
                 gemma3_window_keys(config, c);
                 if (c.window == 0) c.rotary_window_base = 0;
               },
           .names = gemma2_names(),
           .token_scores = "",
           .default_bos_id = 2,
           .language_model_prefix = "Gemma3"},
          {.name = "olmo",
           .prefix = "Olmo",
           .defaults = llama_with([](GptConfig& c) {
             c.vocab = 50304;
             c.norm = GptNorm::layer_norm;
             c.layer_norm_eps = 1e-5;
             c.norm_weights = false;
             c.padding_id = 1;
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 decoder_keys(config, c);
                 config.optional_size("num_key_value_heads", c.kv_heads)
                     .field("rope_theta", c.rotary_base)
                     .optional_id("pad_token_id", c.padding_id)
                     .field("attention_bias", c.attention_bias)
                     .optional_number("clip_qkv", c.clip_qkv);
                 rotary_keys(config, c);
               },
           .names = llama_names(),
           .token_scores = "",
           .has_sequence_classifier = false},
          {.name = "olmo2",
           .prefix = "Olmo2",
           .defaults = llama_with([](GptConfig& c) {
             c.vocab = 50304;
             c.layer_norm_eps = 1e-5;
             c.residual = GptResidual::inner_post_norm;
             c.qk_norm = true;
             c.qk_norm_form = GptQkNorm::all_heads;
             c.padding_id = 1;
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 rotary_decoder_keys(config, c);
                 config.field("attention_bias", c.attention_bias);
               },
           .names = inner_post_norm_names(),
           .token_scores = "",
           .has_sequence_classifier = false},
          {.name = "glm4",
           .prefix = "Glm4",
           .defaults = llama_with([](GptConfig& c) {
             c.vocab = 151552;
             c.inner = 13696;
             c.layers = 40;
             c.kv_heads = 2;
             c.head_dim = 128;
             c.context = 131072;
             c.layer_norm_eps = 1.5625e-7;
             c.residual = GptResidual::sandwich;
             c.qkv_bias = true;
             c.fused_gate = true;
             c.rotary_share = 0.5;
             c.rotary_adjacent = true;
             c.padding_id = 151329;
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 rotary_decoder_keys(config, c, "rms_norm_eps", true);
                 config.field("attention_bias", c.qkv_bias);
               },
           .names =
               [] {
                 GptNames names = sandwich_names("post_self_attn_layernorm",
                                                 "post_attention_layernorm", "post_mlp_layernorm");
                 names.block_modules.emplace_back("mlp.gate_up", "mlp.gate_up_proj");
                 return names;
               }()},
          {.name = "exaone4",
           .prefix = "Exaone4",
           .defaults = llama_with([](GptConfig& c) {
             c.vocab = 102400;
             c.inner = 16384;
             c.kv_heads = 32;
             c.layer_norm_eps = 1e-5;
             c.residual = GptResidual::inner_post_norm;
             c.qk_norm = true;
             c.window = 4096;
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 rotary_decoder_keys(config, c);
                 exaone_window_keys(config, c);
               },
           .names = inner_post_norm_names(),
           .default_bos_id = 0},
          {.name = "nemotron",
           .prefix = "Nemotron",
           .defaults = llama_with([](GptConfig& c) {
             c.vocab = 256000;
             c.width = 6144;
             c.inner = 24576;
             c.heads = 48;
             c.context = 4096;
             c.activation = Activation::relu2;
             c.gated = false;
             c.norm = GptNorm::layer_norm;
             c.layer_norm_eps = 1e-5;
             c.norm_bias = true;
             c.norm_offset = true;
             c.rotary_share = 0.5;
             c.initializer_range = 0.0134;
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 rotary_decoder_keys(config, c, "norm_eps", true);
                 config.field("attention_bias", c.attention_bias).field("mlp_bias", c.mlp_bias);
               },
           .names = llama_names(),
           .default_bos_id = 2}};
}

}  // namespace weft::hf
