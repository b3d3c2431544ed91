// Keys of GGUF files that only some architectures have: descriptions for both directions, from
// which the entries of the table in architecture.cc are composed. Internal to models/gguf.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "weft/models/families/layer_pattern.h"
#include "weft/models/gguf/keys.h"

namespace weft::gguf {

/// Reads the window and the pattern of layers with it: by default all but the last of every
/// `period` layers.
inline void window_keys(KeyReader& keys, GptConfig& c, std::int64_t period,
                        std::int64_t window = 0) {
  keys.optional("attention.sliding_window", c.window, window);
  c.window_layers.clear();
  if (c.window == 0) {
    keys.ignore({"attention.sliding_window_pattern", "rope.freq_base_swa"});
    return;
  }
  keys.layers("attention.sliding_window_pattern", c.window_layers, all_but_last(period, c.layers),
              c.layers);
  // A pattern without windows is the same as no window.
  if (c.window_layers == "0") {
    c.window = 0;
    c.window_layers.clear();
  }
}
inline void window_keys(KeyWriter& keys, const GptConfig& c, std::int64_t period,
                        std::int64_t = 0) {
  keys.required("attention.sliding_window", c.window);
  if (c.window > 0)
    keys.layers("attention.sliding_window_pattern", shortest_pattern(c.window_layers, c.layers),
                all_but_last(period, c.layers), c.layers);
}

/// Reads the base of layers with the window, which have unscaled frequencies.
inline void window_base_key(KeyReader& keys, GptConfig& c, double absent) {
  if (c.window == 0) return;
  keys.optional("rope.freq_base_swa", c.rotary_window_base, absent);
}
inline void window_base_key(KeyWriter& keys, const GptConfig& c, double absent) {
  if (c.window == 0) return;
  keys.optional("rope.freq_base_swa", c.rotary_window_base == 0 ? absent : c.rotary_window_base,
                absent);
}
/// As above, for architectures that scale frequencies in all layers.
inline void same_window_base(KeyReader& keys, GptConfig& c) {
  if (c.window > 0) keys.fixed("rope.freq_base_swa", c.rotary_base);
}
inline void same_window_base(KeyWriter&, const GptConfig&) {}

/// Keys of a mixture of experts.
template <class K>
void expert_keys(K& keys, GptConfig& c) {
  keys.optional("expert_count", c.experts, std::int64_t{0});
  if (c.experts == 0) {
    // Files of dense models may contain a zero.
    keys.fixed("expert_used_count", std::int64_t{0});
    return;
  }
  keys.required("expert_used_count", c.experts_per_token)
      .optional("expert_feed_forward_length", c.expert_inner, std::int64_t{0});
}

/// The first layers have a feed-forward block, and all others have experts.
inline void dense_layers_key(KeyReader& keys, GptConfig& c) {
  std::int64_t dense = 0;
  keys.optional("leading_dense_block_count", dense, std::int64_t{0});
  if (dense >= c.layers) keys.unsupported("leading_dense_block_count", "no layer has experts");
  std::string pattern(static_cast<std::size_t>(c.layers), '1');
  std::fill(pattern.begin(), pattern.begin() + dense, '0');
  c.expert_layers = shortest_pattern(pattern, c.layers);
}
inline void dense_layers_key(KeyWriter& keys, const GptConfig& c) {
  std::int64_t dense = 0;
  while (dense < c.layers && !c.has_experts(dense)) ++dense;
  keys.required("leading_dense_block_count", dense);
}

/// Every `step`-th layer has experts (Llama 4).
inline void expert_step_key(KeyReader& keys, GptConfig& c) {
  std::int64_t step = 1;
  keys.required("interleave_moe_layer_step", step);
  if (step < 1 || step > c.layers)
    keys.unsupported("interleave_moe_layer_step", "it must be in [1, block_count]");
  std::string pattern(static_cast<std::size_t>(step), '0');
  pattern.back() = '1';
  c.expert_layers = shortest_pattern(pattern, c.layers);
}
inline void expert_step_key(KeyWriter& keys, const GptConfig& c) {
  std::int64_t step = 1;
  while (step < c.layers && !c.has_experts(step - 1)) ++step;
  keys.required("interleave_moe_layer_step", step);
}

/// Gating functions by their numbers in files.
inline void gating_key(KeyReader& keys, GptConfig& c) {
  std::int64_t function = 0;
  keys.optional("expert_gating_func", function, std::int64_t{1});
  if (function != 1 && function != 2)
    keys.unsupported("expert_gating_func", "it must be 1 (softmax) or 2 (sigmoid)");
  c.router_scores = function == 1 ? RouterScores::softmax : RouterScores::sigmoid;
}
inline void gating_key(KeyWriter& keys, const GptConfig& c) {
  keys.required("expert_gating_func",
                std::int64_t{c.router_scores == RouterScores::softmax ? 1 : 2});
}

/// The factor of the scores of Gemma 2 and 3, which depends on the number of layers.
inline double gemma_scale(const GptConfig& c, std::int64_t largest) {
  const std::int64_t size = c.layers == largest ? c.width / c.heads : c.head_size();
  return 1 / std::sqrt(static_cast<double>(size));
}
/// Constants of all Gemma models.
template <class K>
void gemma_keys(K&, GptConfig& c) {
  if constexpr (K::kReads) c.embedding_multiplier = std::sqrt(static_cast<double>(c.width));
}

inline void parallel_key(KeyReader& keys, GptConfig& c) {
  bool parallel = true;
  keys.required("use_parallel_residual", parallel);
  c.residual = parallel ? GptResidual::parallel : GptResidual::pre_norm;
}
inline void parallel_key(KeyWriter& keys, const GptConfig& c) {
  keys.required("use_parallel_residual", c.residual == GptResidual::parallel);
}

/// Granite divides the logits by logit_scale.
inline void divisor_key(KeyReader& keys, GptConfig& c) {
  double divisor = 1;
  keys.required("logit_scale", divisor);
  if (!(divisor > 0)) keys.unsupported("logit_scale", "it must be positive");
  c.logit_multiplier = 1 / divisor;
}
inline void divisor_key(KeyWriter& keys, const GptConfig& c) {
  keys.required("logit_scale", 1 / c.logit_multiplier);
}

/// In Granite models, rope.scaling.finetuned = false turns rotary positions off.
inline void rotary_switch(KeyReader& keys, GptConfig& c) {
  bool rotary = true;
  keys.optional("rope.scaling.finetuned", rotary, true);
  if (!rotary) c.positions = GptPositions::none;
}
inline void rotary_switch(KeyWriter& keys, const GptConfig& c) {
  keys.required("rope.scaling.finetuned", c.positions == GptPositions::rotary);
}

/// Falcon and StableLM: the form of the block depends on the norms that the file has.
inline void norms_of_file(const KeyReader& keys, GptConfig& c, const char* second,
                          GptResidual with) {
  c.residual = keys.has_tensor(second) ? with : GptResidual::parallel_one_norm;
}
inline void norms_of_file(const KeyWriter&, const GptConfig&, const char*, GptResidual) {}

/// Sizes of latent attention. Files contain keys and values either compressed (the sizes of a head
/// are then those of the compressed cache) or, in old files, expanded.
inline void latent_keys(KeyReader& keys, GptConfig& c) {
  keys.required("attention.kv_lora_rank", c.kv_rank)
      .optional("attention.q_lora_rank", c.query_rank, std::int64_t{0})
      .required("rope.dimension_count", c.latent_rotary);
  const bool compressed = keys.has("attention.key_length_mla");
  keys.required(compressed ? "attention.key_length_mla" : "attention.key_length", c.head_dim)
      .required(compressed ? "attention.value_length_mla" : "attention.value_length", c.value_dim)
      .ignore({"attention.key_length", "attention.value_length"});
  c.kv_heads = c.heads;
  c.rotary_share = 1;
}
inline void latent_keys(KeyWriter& keys, const GptConfig& c) {
  keys.required("attention.kv_lora_rank", c.kv_rank)
      .optional("attention.q_lora_rank", c.query_rank, std::int64_t{0})
      .required("attention.key_length", c.kv_rank + c.latent_rotary)
      .required("attention.value_length", c.kv_rank)
      .required("attention.key_length_mla", c.head_dim)
      .required("attention.value_length_mla", c.value_size());
}

/// The factor of the queries that grows with the position (Ministral 3).
template <class K>
void growth_keys(K& keys, GptConfig& c) {
  keys.optional("attention.temperature_scale", c.query_growth, 0.0);
  if constexpr (K::kReads) {
    if (c.query_growth > 0)
      keys.optional("rope.scaling.original_context_length", c.query_growth_context, c.context);
  }
}

/// Llama 4: chunks of 8192 tokens, except in every fourth layer, which has no rotary positions.
inline void llama4_layers(KeyReader& keys, GptConfig& c) {
  std::int64_t window = 1;
  keys.optional("attention.sliding_window", window, std::int64_t{1});
  c.qk_norm = c.experts != 128;
  if (window == 0) return;
  c.window = 8192;
  c.window_chunks = true;
  keys.layers("attention.sliding_window_pattern", c.window_layers, all_but_last(4, c.layers),
              c.layers);
  c.rotary_layers = all_but_last(4, c.layers);
  c.query_growth = c.rotary_layers.empty() ? 0 : 0.1;
  c.query_growth_context = 8192;
  c.query_growth_offset = 1;
  if (c.query_growth > 0) c.query_growth_layers = shortest_pattern("0001", c.layers);
}
inline void llama4_layers(KeyWriter& keys, const GptConfig& c) {
  keys.required("attention.sliding_window", c.window);
}

}  // namespace weft::gguf
