// ModernBERT and EuroBERT: pre-norm encoders with rotary positions and gated feed-forward blocks.
#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/families/layer_pattern.h"
#include "weft/models/fields/check.h"
#include "weft/models/hf/encoders/encoder_keys.h"

namespace weft::hf {
namespace {

/// Returns the pattern of the layers with a window if every n-th layer, from the first one, has
/// none.
std::string windows_between(std::int64_t n, std::int64_t layers) {
  std::string pattern;
  for (std::int64_t i = 0; i < layers; ++i) pattern += i % n == 0 ? '0' : '1';
  return shortest_pattern(pattern, layers);
}

constexpr const char* kEvery = "global_attn_every_n_layers";

/// The size of the window, and the layers that have it: in newer files a list, in older ones an
/// interval.
void local_attention_keys(ConfigReader& config, EncoderConfig& c) {
  std::int64_t every = 3;
  config.field(kEvery, every);
  check::at_least(kEvery, every, 1);
  const std::string usual = windows_between(every, c.layers);
  const bool both = config.find(kEvery) != nullptr && config.find("layer_types") != nullptr;
  decoder_part(config, c, [&](auto& keys, GptConfig& g) {
    window_layer_keys(keys, g, usual.empty() ? "1" : usual, {.key = "local_attention"});
  });
  const std::string found = c.window == 0 ? "0" : c.window_layers;
  if (both && found != usual) {
    throw ArgumentError(fmt::format(
        "config.json: layer_types contradicts {} ({}): specify only one, or ignore one of them "
        "(--ignore-config-key {})",
        kEvery, every, kEvery));
  }
  if (c.window == 0) c.rotary_window_base = 0;
}
void local_attention_keys(ConfigWriter& config, EncoderConfig& c) {
  decoder_part(config, c, [&](auto& keys, GptConfig& g) {
    window_layer_keys(keys, g, {}, {.key = "local_attention"});
  });
  const std::string pattern = c.window == 0 ? "0" : shortest_pattern(c.window_layers, c.layers);
  for (std::int64_t every = 1; every <= c.layers; ++every) {
    if (windows_between(every, c.layers) != pattern) continue;
    config.field(kEvery, every);
    break;
  }
}

/// The pooling of text classifiers. Its names differ between the types. `older` is an older name
/// of the key, if there is one.
template <class Config>
void pooling_key(Config& config, EncoderConfig& c,
                 const std::vector<std::pair<std::string, HeadPooling>>& names,
                 const char* older = nullptr) {
  constexpr const char* kKey = "classifier_pooling";
  std::string name = names.front().first, known;
  for (const auto& [theirs, ours] : names) {
    if (ours == c.head_pooling) name = theirs;
    known += (known.empty() ? "" : ", ") + theirs;
  }
  config.field(kKey, name);
  if (older != nullptr) config.legacy(older, kKey, name);
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  if (found == names.end()) {
    throw ArgumentError(
        fmt::format("config.json: {} is \"{}\"; supported are {}", kKey, excerpt(name), known));
  }
  c.head_pooling = found->second;
}

template <class Config>
void modernbert_keys(Config& config, EncoderConfig& c, EncoderStyle& style) {
  Activation in_heads = c.activation_in_heads();
  config.field("vocab_size", c.vocab)
      .field("hidden_size", c.width)
      .field("intermediate_size", c.inner)
      .field("num_hidden_layers", c.layers)
      .field("num_attention_heads", c.heads)
      .field("hidden_activation", c.activation)
      .field("max_position_embeddings", c.context)
      .field("initializer_range", c.initializer_range)
      .field("norm_eps", c.layer_norm_eps)
      .field("norm_bias", c.norm_bias)
      .field("attention_bias", c.attention_bias)
      .field("mlp_bias", c.mlp_bias)
      .field("decoder_bias", c.decoder_bias)
      .field("classifier_bias", c.head_bias)
      .field("classifier_activation", in_heads)
      .field("attention_dropout", c.attention_dropout)
      .field("embedding_dropout", c.embedding_dropout)
      .field("mlp_dropout", c.inner_dropout)
      .field("tie_word_embeddings", c.tied_head)
      .field("global_rope_theta", c.rotary_base)
      .optional_number("local_rope_theta", c.rotary_window_base)
      .optional_id("pad_token_id", c.padding_id)
      .fixed("rope_scaling", json(),
             "ModernBERT scales the positions of all layers; use rope_parameters")
      // Initialisation, speed, and which logits are returned.
      .ignore({"initializer_cutoff_factor", "deterministic_flash_attn", "reference_compile",
               "repad_logits_with_grad", "sparse_prediction", "sparse_pred_ignore_index"});
  encoder_rotary_keys(config, c);
  local_attention_keys(config, c);
  pooling_key(config, c, {{"cls", HeadPooling::first}, {"mean", HeadPooling::mean}});
  c.attention_out_dropout = c.attention_dropout;
  c.head_activation = choice_name(in_heads);
  style.classifier_dense.activation = style.masked_lm.activation = in_heads;
  style.masked_lm.layer_norm_eps = c.layer_norm_eps;
}

EncoderType modernbert() {
  return {.name = "modernbert",
          .prefix = "ModernBert",
          .defaults = EncoderConfig::modernbert(),
          .style = {.base = "model",
                    .embeddings = {{"tokens", "embeddings.tok_embeddings"},
                                   {"norm", "embeddings.norm"}},
                    .encoder = {{"final_norm", "final_norm"}},
                    .layer = "layers.{}",
                    .layer_modules = {{"attention.qkv", "attn.Wqkv"},
                                      {"attention.out", "attn.Wo"},
                                      {"attention_norm", "attn_norm"},
                                      {"feed_forward.gate_up", "mlp.Wi"},
                                      {"feed_forward.down", "mlp.Wo"},
                                      {"feed_forward_norm", "mlp_norm"}},
                    .heads = {{"masked_lm.dense", "head.dense"},
                              {"masked_lm.norm", "head.norm"},
                              {"masked_lm.bias", "decoder.bias"},
                              {"masked_lm.decoder", "decoder"}},
                    .span = "classifier",
                    .classifier_dense = {"head.dense", Activation::gelu_erf},
                    .classifier_norm = "head.norm",
                    .takes_token_types = false},
          .keys = [](auto& config, auto&... parts) { modernbert_keys(config, parts...); }};
}

template <class Config>
void eurobert_keys(Config& config, EncoderConfig& c, EncoderStyle& style) {
  config.field("vocab_size", c.vocab)
      .field("hidden_size", c.width)
      .field("intermediate_size", c.inner)
      .field("num_hidden_layers", c.layers)
      .field("num_attention_heads", c.heads)
      .optional_size("num_key_value_heads", c.kv_heads)
      .optional_size("head_dim", c.head_size)
      .field("hidden_act", c.activation)
      .field("max_position_embeddings", c.context)
      .field("initializer_range", c.initializer_range)
      .field("rms_norm_eps", c.layer_norm_eps)
      .field("attention_bias", c.attention_bias)
      .field("mlp_bias", c.mlp_bias)
      .field("attention_dropout", c.attention_dropout)
      .field("tie_word_embeddings", c.tied_head)
      .field("rope_theta", c.rotary_base)
      .optional_id("pad_token_id", c.padding_id);
  encoder_rotary_keys(config, c);
  pooling_key(
      config, c,
      {{"late", HeadPooling::late}, {"bos", HeadPooling::first}, {"mean", HeadPooling::mean}},
      "clf_pooling");
  c.decoder_bias = c.mlp_bias;
  style.masked_lm = masked_lm_options(c);
}

EncoderType eurobert() {
  return {.name = "eurobert",
          .prefix = "EuroBert",
          .defaults = {.vocab = 128256,
                       .context = 8192,
                       .token_types = 0,
                       .padding_id = 128001,
                       .activation = Activation::silu,
                       .gated = true,
                       .attention_bias = false,
                       .mlp_bias = false,
                       .layer_norm_eps = 1e-5,
                       .rms_norm = true,
                       .norm_bias = false,
                       .norm_first = true,
                       .final_norm = true,
                       .positions = EncoderPositions::rotary,
                       .rotary_base = 250000,
                       .tied_head = false,
                       .head_transform = false,
                       .head_pooling = HeadPooling::late},
          .style = {.base = "model",
                    .embeddings = {{"tokens", "embed_tokens"}},
                    .encoder = {{"final_norm", "norm"}},
                    .layer = "layers.{}",
                    .layer_modules = {{"attention.query", "self_attn.q_proj"},
                                      {"attention.key", "self_attn.k_proj"},
                                      {"attention.value", "self_attn.v_proj"},
                                      {"attention.out", "self_attn.o_proj"},
                                      {"attention_norm", "input_layernorm"},
                                      {"feed_forward.gate", "mlp.gate_proj"},
                                      {"feed_forward.up", "mlp.up_proj"},
                                      {"feed_forward.down", "mlp.down_proj"},
                                      {"feed_forward_norm", "post_attention_layernorm"}},
                    // The classifier of the authors' code.
                    .older_names = {{"out_proj", {"classifier"}}},
                    .heads = {{"masked_lm.bias", "lm_head.bias"}, {"masked_lm.decoder", "lm_head"}},
                    .classifier_dense = {"dense", Activation::gelu_erf},
                    .takes_token_types = false,
                    .answers_questions = false,
                    .last_hidden_has_norm = true},
          .keys = [](auto& config, auto&... parts) { eurobert_keys(config, parts...); }};
}

}  // namespace

ModelTypes modernbert_model_types() { return encoder_model_types({modernbert(), eurobert()}); }

}  // namespace weft::hf
