// LLaMA, Mistral, and types that differ from them in few settings.
#include <algorithm>
#include <limits>

#include "weft/models/hf/decoders/keys.h"

namespace weft::hf {
namespace {

/// Mistral. Files of transformers 4.34 do not count the query's own position, so the window is
/// larger by one.
void mistral_window_key(ConfigReader& config, GptConfig& c) {
  window_key(config, c);
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max() - 1;
  if (c.window > 0 && config.text("transformers_version").starts_with("4.34."))
    c.window = std::min(c.window, kMax) + 1;
}
void mistral_window_key(ConfigWriter& config, const GptConfig& c) { window_key(config, c); }

/// Keys of Mistral's relatives, which have no biases.
template <class Config>
void mistral_keys(Config& config, GptConfig& c, bool scaled = false) {
  rotary_decoder_keys(config, c, "rms_norm_eps", false, scaled);
  config.fixed("attention_bias", false, "this model type has no biases")
      .fixed("mlp_bias", false, "this model type has no biases");
}

/// LLaMA's biases.
template <class Config>
void bias_keys(Config& config, GptConfig& c) {
  config.field("attention_bias", c.attention_bias).field("mlp_bias", c.mlp_bias);
}

/// SmolLM3: only layers without rotary positions can have the window.
void smollm3_window_keys(ConfigReader& config, GptConfig& c) {
  std::string pattern;
  for (std::int64_t i = 0; i < c.layers; ++i) pattern += c.has_rotary(i) ? '0' : '1';
  optional_window_keys(config, c, pattern);
}
void smollm3_window_keys(ConfigWriter& config, const GptConfig& c) {
  optional_window_keys(config, c, {});
}

GptConfig mistral_with(void (*change)(GptConfig&)) {
  return llama_with([&](GptConfig& c) {
    c.inner = 14336;
    c.context = 4096 * 32;
    c.kv_heads = 8;
    c.window = 4096;
    change(c);
  });
}

}  // namespace

std::vector<GptType> llama_types() {
  return {{.name = "llama",
           .prefix = "Llama",
           .defaults = llama_with([](GptConfig&) {}),
           .keys =
               [](auto& config, GptConfig& c) {
                 rotary_decoder_keys(config, c);
                 bias_keys(config, c);
               },
           .names = llama_names(),
           .default_bos_id = 1},
          {.name = "mistral",
           .prefix = "Mistral",
           .defaults = mistral_with([](GptConfig&) {}),
           .keys =
               [](auto& config, GptConfig& c) {
                 mistral_keys(config, c);
                 mistral_window_key(config, c);
               },
           .names = llama_names(),
           .padded = {.score = -std::numeric_limits<double>::infinity()},
           .default_bos_id = 1},
          {.name = "ministral",
           .prefix = "Ministral",
           .defaults = mistral_with([](GptConfig&) {}),
           .keys =
               [](auto& config, GptConfig& c) {
                 mistral_keys(config, c);
                 window_layer_keys(config, c, "1");
               },
           .names = llama_names(),
           .default_bos_id = 1},
          {.name = "ministral3",
           .prefix = "Ministral3",
           .defaults = mistral_with([](GptConfig& c) {
             c.vocab = 131072;
             c.layers = 34;
             c.head_dim = 128;
             c.context = 262144;
             c.layer_norm_eps = 1e-5;
             c.padding_id = 11;
             c.window = 0;
             c.query_growth = 0.1;
             c.query_growth_context = c.rotary_context = 16384;
             c.rotary_base = 1e6;
             c.rotary_scaling = RotaryScalingKind::yarn;
             c.rotary_factor = 16;
             c.rotary_mscale = c.rotary_mscale_all = 1;
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 mistral_keys(config, c, true);
                 window_key(config, c);
                 if (c.rotary_scaling == RotaryScalingKind::none) c.query_growth = 0;
               },
           .names = llama_names(),
           .default_bos_id = 1},
          {.name = "granite",
           .prefix = "Granite",
           .defaults = llama_with([](GptConfig& c) { c.attention_scale = 1; }),
           .keys =
               [](auto& config, GptConfig& c) {
                 rotary_decoder_keys(config, c);
                 bias_keys(config, c);
                 config.field("attention_multiplier", c.attention_scale)
                     .field("embedding_multiplier", c.embedding_multiplier)
                     .field("residual_multiplier", c.residual_multiplier)
                     .converted(
                         "logits_scaling",
                         [&](const json& value) {
                           double divisor = 1;
                           read_json(value, "logits_scaling", divisor);
                           c.logit_multiplier = 1 / divisor;
                         },
                         [&]() -> json { return 1 / c.logit_multiplier; });
               },
           .names = llama_names(),
           .token_scores = "",
           .has_sequence_classifier = false,
           .default_bos_id = 1},
          {.name = "smollm3",
           .prefix = "SmolLM3",
           .defaults = llama_with([](GptConfig& c) {
             c.vocab = 128256;
             c.width = 2048;
             c.layers = 36;
             c.heads = 16;
             c.kv_heads = 4;
             c.context = 32768;
             c.tied_head = true;
             c.padding_id = 128004;
             c.rotary_base = 2e6;
           }),
           .keys =
               [](auto& config, GptConfig& c) {
                 rotary_decoder_keys(config, c);
                 bias_keys(config, c);
                 rotary_layer_keys(config, c);
                 smollm3_window_keys(config, c);
               },
           .names = llama_names(),
           .default_bos_id = 128000}};
}

}  // namespace weft::hf
