// Defaults, config keys and names that several model types of the GPT family share. Internal to hf.
#pragma once

#include <string>
#include <string_view>

#include "weft/models/hf/config_reader.h"
#include "weft/models/hf/decoders/gpt_types.h"
#include "weft/models/hf/decoders/rotary_keys.h"

namespace weft::hf {

/// Config keys of the types that follow GPT-2.
template <class Config>
void gpt2_keys(Config& config, GptConfig& c) {
  config.field("vocab_size", c.vocab)
      .field("n_positions", c.context)
      .field("n_embd", c.width)
      .field("n_layer", c.layers)
      .field("n_head", c.heads)
      .field("layer_norm_epsilon", c.layer_norm_eps)
      .field("initializer_range", c.initializer_range)
      .field("embd_pdrop", c.embedding_dropout)
      .field("attn_pdrop", c.attention_dropout)
      .field("resid_pdrop", c.residual_dropout)
      .field("tie_word_embeddings", c.tied_head)
      // Hugging Face transformers also accepts the names of newer models.
      .repeated("max_position_embeddings", "n_positions", c.context)
      .repeated("hidden_size", "n_embd", c.width)
      .repeated("num_hidden_layers", "n_layer", c.layers)
      .repeated("num_attention_heads", "n_head", c.heads)
      .ignore({"pad_token_id"});
}

/// Throws ArgumentError if the numbers of layers or heads, or other sizes that keys are computed
/// from, are outside their limits, which GptConfig::check() would find too late.
void check_sizes(const ConfigReader& config, const GptConfig& c);
inline void check_sizes(const ConfigWriter&, const GptConfig&) {}

/// Config keys of most decoders since GPT-NeoX.
template <class Config>
void decoder_keys(Config& config, GptConfig& c) {
  config.field("vocab_size", c.vocab)
      .field("hidden_size", c.width)
      .field("intermediate_size", c.inner)
      .field("num_hidden_layers", c.layers)
      .field("num_attention_heads", c.heads)
      .field("hidden_act", c.activation)
      .field("max_position_embeddings", c.context)
      .field("initializer_range", c.initializer_range)
      .field("tie_word_embeddings", c.tied_head)
      .field("attention_dropout", c.attention_dropout);
  check_sizes(config, c);
}

/// Config keys of decoders with grouped heads and rotary positions. `eps` is the key of the epsilon
/// of the norms. If `partial`, only a part of each head may be rotated. If `scaled`, positions are
/// scaled by default.
template <class Config>
void rotary_decoder_keys(Config& config, GptConfig& c, const char* eps = "rms_norm_eps",
                         bool partial = false, bool scaled = false) {
  decoder_keys(config, c);
  config.optional_size("num_key_value_heads", c.kv_heads)
      .optional_size("head_dim", c.head_dim)
      .field(eps, c.layer_norm_eps)
      .field("rope_theta", c.rotary_base)
      .optional_id("pad_token_id", c.padding_id);
  if (partial) {
    config.field("partial_rotary_factor", c.rotary_share);
  } else {
    config.fixed("partial_rotary_factor", 1, "rotary positions must cover all features of a head");
  }
  rotary_keys(config, c, partial, scaled);
}

/// Returns LLaMA's defaults with the changes of another model type.
template <class Change>
GptConfig llama_with(const Change& change) {
  GptConfig c = GptConfig::llama();
  c.width = 4096;
  c.layers = c.heads = 32;
  c.inner = 11008;
  c.context = 2048;
  c.layer_norm_eps = 1e-6;
  change(c);
  return c;
}

/// Returns LLaMA's module names, with further names or other names within the blocks.
GptNames llama_names(const ModuleNames& changes = {});
/// Returns the layouts of experts that files store one by one: <front>.*.<gate>.weight and so on.
std::vector<FileLayout> separate_experts(const std::string& front = "mlp.experts",
                                         const std::string& gate = "gate_proj",
                                         const std::string& up = "up_proj",
                                         const std::string& down = "down_proj");
/// Returns the layouts of the gates and the other inputs of experts that files store in one tensor.
/// `suffix` is that of both parameters.
std::vector<FileLayout> fused_experts(const std::string& theirs, bool interleaved,
                                      const std::string& suffix = {});

// Windows. In transformers, a token attends to itself and to the sliding_window - 1 tokens before.

/// The window of all layers at sliding_window, of which null means none.
void window_key(ConfigReader& config, GptConfig& c);
void window_key(ConfigWriter& config, const GptConfig& c);
/// The names of a window in config.json: the key of its size, and the layers in layer_types.
struct WindowNames {
  const char* key = "sliding_window";
  const char* kind = "sliding_attention";
};
/// As window_key(), for types with a list layer_types of the layers with the window. `usual` is the
/// pattern of the layers if the list is absent.
void window_layer_keys(ConfigReader& config, GptConfig& c, const std::string& usual,
                       const WindowNames& names = {});
void window_layer_keys(ConfigWriter& config, const GptConfig& c, const std::string& usual,
                       const WindowNames& names = {});
/// As window_layer_keys(), if by default every layer has the window except every n-th.
/// sliding_window_pattern is n, or else `usual`.
void window_interval_keys(ConfigReader& config, GptConfig& c, std::int64_t usual);
void window_interval_keys(ConfigWriter& config, const GptConfig& c, std::int64_t usual);
/// As window_layer_keys(), for types that have windows only if use_sliding_window is true.
void optional_window_keys(ConfigReader& config, GptConfig& c, const std::string& usual);
void optional_window_keys(ConfigWriter& config, const GptConfig& c, const std::string& usual);
/// As optional_window_keys(), with a window from layer max_window_layers on.
void late_window_keys(ConfigReader& config, GptConfig& c);
void late_window_keys(ConfigWriter& config, const GptConfig& c);

/// Returns the pattern in which every n-th layer is not selected: "110" for 3. Throws ArgumentError
/// if n, the value of `key`, is not in [1, 1000].
std::string all_but_every(std::int64_t n, const char* key);

/// The list of 0 and 1 at `key`, one per layer, for the layers with rotary positions, and the
/// interval at `interval` that applies if the list is absent: every n-th layer lacks them.
void rotary_layer_keys(ConfigReader& config, GptConfig& c);
void rotary_layer_keys(ConfigWriter& config, const GptConfig& c);

// Mixtures of experts.

/// The layers without experts: mlp_only_layers, decoder_sparse_step.
void dense_layer_keys(ConfigReader& config, GptConfig& c);
void dense_layer_keys(ConfigWriter& config, const GptConfig& c);
/// The load-balancing loss, which is part of the loss if output_router_logits is true. The default
/// of router_aux_loss_coef is in c.balancing_weight.
void balancing_keys(ConfigReader& config, GptConfig& c);
void balancing_keys(ConfigWriter& config, const GptConfig& c);

/// A number of rotated features per head at `key`, in place of their share.
void rotary_size_key(ConfigReader& config, GptConfig& c, const char* key);
void rotary_size_key(ConfigWriter& config, const GptConfig& c, const char* key);

/// Layers that are selected by their indices in the list at `key`.
void layer_list_key(ConfigReader& config, const GptConfig& c, const char* key, std::string& pattern,
                    bool selected);
void layer_list_key(ConfigWriter& config, const GptConfig& c, const char* key,
                    const std::string& pattern, bool selected);

}  // namespace weft::hf
