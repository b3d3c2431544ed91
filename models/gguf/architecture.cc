// The table of architectures.
#include "weft/models/gguf/architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/families/layer_pattern.h"

namespace weft::gguf {
namespace {

/// Reads the window and the pattern of layers with it: by default all but the last of every
/// `period` layers.
void window_keys(KeyReader& keys, GptConfig& c, std::int64_t period, std::int64_t window = 0) {
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
void window_keys(KeyWriter& keys, const GptConfig& c, std::int64_t period, std::int64_t = 0) {
  keys.required("attention.sliding_window", c.window);
  if (c.window > 0)
    keys.layers("attention.sliding_window_pattern", shortest_pattern(c.window_layers, c.layers),
                all_but_last(period, c.layers), c.layers);
}

/// Reads the base of layers with the window, which have unscaled frequencies.
void window_base_key(KeyReader& keys, GptConfig& c, double absent) {
  if (c.window == 0) return;
  keys.optional("rope.freq_base_swa", c.rotary_window_base, absent);
}
void window_base_key(KeyWriter& keys, const GptConfig& c, double absent) {
  if (c.window == 0) return;
  keys.optional("rope.freq_base_swa", c.rotary_window_base == 0 ? absent : c.rotary_window_base,
                absent);
}
/// As above, for architectures whose layers with the window scale frequencies like all others.
void same_window_base(KeyReader& keys, GptConfig& c) {
  if (c.window > 0) keys.fixed("rope.freq_base_swa", c.rotary_base);
}
void same_window_base(KeyWriter&, const GptConfig&) {}

/// Keys of a mixture of experts in all layers.
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
void dense_layers_key(KeyReader& keys, GptConfig& c) {
  std::int64_t dense = 0;
  keys.optional("leading_dense_block_count", dense, std::int64_t{0});
  if (dense >= c.layers) keys.unsupported("leading_dense_block_count", "no layer has experts");
  std::string pattern(static_cast<std::size_t>(c.layers), '1');
  std::fill(pattern.begin(), pattern.begin() + dense, '0');
  c.expert_layers = shortest_pattern(pattern, c.layers);
}
void dense_layers_key(KeyWriter& keys, const GptConfig& c) {
  std::int64_t dense = 0;
  while (dense < c.layers && !c.has_experts(dense)) ++dense;
  keys.required("leading_dense_block_count", dense);
}

/// Every `step`-th layer has experts (Llama 4).
void expert_step_key(KeyReader& keys, GptConfig& c) {
  std::int64_t step = 1;
  keys.required("interleave_moe_layer_step", step);
  if (step < 1 || step > c.layers)
    keys.unsupported("interleave_moe_layer_step", "it must be in [1, block_count]");
  std::string pattern(static_cast<std::size_t>(step), '0');
  pattern.back() = '1';
  c.expert_layers = shortest_pattern(pattern, c.layers);
}
void expert_step_key(KeyWriter& keys, const GptConfig& c) {
  std::int64_t step = 1;
  while (step < c.layers && !c.has_experts(step - 1)) ++step;
  keys.required("interleave_moe_layer_step", step);
}

/// Gating functions by their numbers in files.
void gating_key(KeyReader& keys, GptConfig& c) {
  std::int64_t function = 0;
  keys.optional("expert_gating_func", function, std::int64_t{1});
  if (function != 1 && function != 2)
    keys.unsupported("expert_gating_func", "it must be 1 (softmax) or 2 (sigmoid)");
  c.router_scores = function == 1 ? RouterScores::softmax : RouterScores::sigmoid;
}
void gating_key(KeyWriter& keys, const GptConfig& c) {
  keys.required("expert_gating_func",
                std::int64_t{c.router_scores == RouterScores::softmax ? 1 : 2});
}

/// The factor of the scores of Gemma 2 and 3, which depends on the number of layers.
double gemma_scale(const GptConfig& c, std::int64_t largest) {
  const std::int64_t size = c.layers == largest ? c.width / c.heads : c.head_size();
  return 1 / std::sqrt(static_cast<double>(size));
}
/// Constants of all Gemma models.
template <class K>
void gemma_keys(K&, GptConfig& c) {
  if constexpr (K::kReads) c.embedding_multiplier = std::sqrt(static_cast<double>(c.width));
}

void parallel_key(KeyReader& keys, GptConfig& c) {
  bool parallel = true;
  keys.required("use_parallel_residual", parallel);
  c.residual = parallel ? GptResidual::parallel : GptResidual::pre_norm;
}
void parallel_key(KeyWriter& keys, const GptConfig& c) {
  keys.required("use_parallel_residual", c.residual == GptResidual::parallel);
}

/// Granite divides the logits by logit_scale.
void divisor_key(KeyReader& keys, GptConfig& c) {
  double divisor = 1;
  keys.required("logit_scale", divisor);
  if (!(divisor > 0)) keys.unsupported("logit_scale", "it must be positive");
  c.logit_multiplier = 1 / divisor;
}
void divisor_key(KeyWriter& keys, const GptConfig& c) {
  keys.required("logit_scale", 1 / c.logit_multiplier);
}

/// In Granite models, rope.scaling.finetuned = false turns rotary positions off.
void rotary_switch(KeyReader& keys, GptConfig& c) {
  bool rotary = true;
  keys.optional("rope.scaling.finetuned", rotary, true);
  if (!rotary) c.positions = GptPositions::none;
}
void rotary_switch(KeyWriter& keys, const GptConfig& c) {
  keys.required("rope.scaling.finetuned", c.positions == GptPositions::rotary);
}

/// Falcon and StableLM: the form of the block depends on the norms that the file has.
void norms_of_file(const KeyReader& keys, GptConfig& c, const char* second, GptResidual with) {
  c.residual = keys.has_tensor(second) ? with : GptResidual::parallel_one_norm;
}
void norms_of_file(const KeyWriter&, const GptConfig&, const char*, GptResidual) {}

/// Sizes of latent attention. Files contain keys and values either compressed (the sizes of a head
/// are then those of the compressed cache) or, in old files, expanded.
void latent_keys(KeyReader& keys, GptConfig& c) {
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
void latent_keys(KeyWriter& keys, const GptConfig& c) {
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
void llama4_layers(KeyReader& keys, GptConfig& c) {
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
void llama4_layers(KeyWriter& keys, const GptConfig& c) {
  keys.required("attention.sliding_window", c.window);
}

// Bases of several architectures.

/// Returns LLaMA's settings with changes.
template <class Change>
GptConfig llama_with(const Change& change) {
  GptConfig c = GptConfig::llama();
  c.experts_transposed = false;
  change(c);
  return c;
}
GptConfig llama() {
  return llama_with([](GptConfig&) {});
}
/// Returns the settings of decoders with layer norms and plain feed-forward blocks, with changes.
template <class Change>
GptConfig gpt_with(const Change& change) {
  GptConfig c;
  c.transposed = c.experts_transposed = c.bias = false;
  change(c);
  return c;
}
GptConfig gemma(GptResidual residual) {
  return llama_with([&](GptConfig& c) {
    c.activation = Activation::gelu_tanh;
    c.norm_offset = true;
    c.residual = residual;
  });
}
GptConfig cohere() {
  return llama_with([](GptConfig& c) {
    c.norm = GptNorm::layer_norm;
    c.residual = GptResidual::parallel_one_norm;
    c.rotary_adjacent = true;
  });
}

constexpr auto no_keys = [](auto& keys, GptConfig&) {
  keys.ignored_by_llama_cpp("attention.sliding_window");
};
const Names kInnerNorms = {{"ln_1", "post_attention_norm"}, {"ln_2", "post_ffw_norm"}};

}  // namespace

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> all = {
      {.name = "qwen2", .config = llama(), .keys = no_keys, .biases = "10000"},
      {.name = "llama",
       .config = llama(),
       .keys =
           [](auto& keys, GptConfig& c) {
             expert_keys(keys, c);
             keys.ignored_by_llama_cpp("attention.sliding_window").ignore({"tensor_data_layout"});
           },
       .adjacent = true,
       .biases = "???00"},
      {.name = "mistral3",
       .config = llama(),
       .keys =
           [](auto& keys, GptConfig& c) {
             expert_keys(keys, c);
             growth_keys(keys, c);
             keys.ignored_by_llama_cpp("attention.sliding_window");
           },
       .adjacent = true,
       .biases = "???00"},
      {.name = "qwen3",
       .config = llama_with([](GptConfig& c) { c.qk_norm = true; }),
       .keys = no_keys},
      {.name = "qwen2moe",
       .config = llama_with([](GptConfig& c) {
         c.normalize_experts = false;
         c.shared_gate = true;
       }),
       .keys =
           [](auto& keys, GptConfig& c) {
             expert_keys(keys, c);
             keys.with_default("expert_shared_feed_forward_length", c.shared_inner, c.inner)
                 .ignored_by_llama_cpp("attention.sliding_window");
           },
       .needs_head = true},
      {.name = "qwen3moe",
       .config = llama_with([](GptConfig& c) { c.qk_norm = true; }),
       .keys =
           [](auto& keys, GptConfig& c) {
             expert_keys(keys, c);
             keys.ignored_by_llama_cpp("attention.sliding_window");
           }},
      {.name = "gemma",
       .config = gemma(GptResidual::pre_norm),
       .keys = [](auto& keys, GptConfig& c) { gemma_keys(keys, c); }},
      {.name = "gemma2",
       .config = gemma(GptResidual::sandwich),
       .keys =
           [](auto& keys, GptConfig& c) {
             gemma_keys(keys, c);
             window_keys(keys, c, 2, 4096);
             same_window_base(keys, c);
             keys.with_default("attn_logit_softcapping", c.attention_soft_cap, 50.0)
                 .with_default("final_logit_softcapping", c.logit_soft_cap, 30.0);
             c.attention_scale = gemma_scale(c, 46);
           }},
      {.name = "gemma3",
       .config = gemma(GptResidual::sandwich),
       .keys =
           [](auto& keys, GptConfig& c) {
             gemma_keys(keys, c);
             window_keys(keys, c, 6);
             window_base_key(keys, c, 10000);
             keys.optional("final_logit_softcapping", c.logit_soft_cap, 0.0);
             c.attention_scale = gemma_scale(c, 62);
           },
       .takes_qk_norm = true},
      {.name = "phi2",
       .config = gpt_with([](GptConfig& c) {
         c.residual = GptResidual::parallel_one_norm;
         c.positions = GptPositions::rotary;
         c.projection = QkvProjection::separate;
       }),
       .keys = no_keys,
       .biases = "11111",
       .needs_head = true},
      {.name = "phi3",
       .config = llama_with([](GptConfig& c) { c.fused_gate = true; }),
       .keys = [](auto& keys,
                  GptConfig&) { keys.ignored_by_llama_cpp("attention.sliding_window"); }},
      {.name = "granite",
       .config = llama(),
       .keys =
           [](auto& keys, GptConfig& c) {
             divisor_key(keys, c);
             keys.with_default("residual_scale", c.residual_multiplier, 1.0)
                 .with_default("embedding_scale", c.embedding_multiplier, 1.0)
                 .with_default("attention.scale", c.attention_scale, 0.0);
             rotary_switch(keys, c);
           },
       .adjacent = true,
       .biases = "???00"},
      {.name = "olmo",
       .config = llama_with([](GptConfig& c) {
         c.norm = GptNorm::layer_norm;
         c.norm_weights = false;
       }),
       .keys = [](auto& keys,
                  GptConfig& c) { keys.optional("attention.clamp_kqv", c.clip_qkv, 0.0); },
       .adjacent = true},
      {.name = "olmo2",
       .config = llama_with([](GptConfig& c) {
         c.residual = GptResidual::inner_post_norm;
         c.qk_norm = true;
         c.qk_norm_form = GptQkNorm::all_heads;
       }),
       .keys =
           [](auto& keys, GptConfig& c) {
             window_keys(keys, c, 4);
             window_base_key(keys, c, c.rotary_base);
           },
       .names = kInnerNorms,
       .needs_head = true},
      {.name = "olmoe",
       .config = llama_with([](GptConfig& c) {
         c.qk_norm = true;
         c.qk_norm_form = GptQkNorm::all_heads;
         c.normalize_experts = false;
       }),
       .keys = [](auto& keys, GptConfig& c) { expert_keys(keys, c); },
       .needs_head = true},
      {.name = "smollm3",
       .config = llama(),
       .keys =
           [](auto& keys, GptConfig& c) {
             keys.ignored_by_llama_cpp("attention.sliding_window");
             c.rotary_layers = all_but_last(4, c.layers);
           },
       .adjacent = true},
      {.name = "stablelm",
       .config = llama_with([](GptConfig& c) {
         c.norm = GptNorm::layer_norm;
         c.qk_norm_form = GptQkNorm::each_head;
         c.qk_norm_bias = false;
       }),
       .keys =
           [](auto& keys, GptConfig& c) {
             norms_of_file(keys, c, "blk.0.ffn_norm.weight", GptResidual::pre_norm);
             keys.ignore({"use_parallel_residual"});
           },
       .biases = "?0010",
       .takes_qk_norm = true,
       .needs_head = true},
      {.name = "starcoder2",
       .config = gpt_with([](GptConfig& c) {
         c.positions = GptPositions::rotary;
         c.projection = QkvProjection::separate;
       }),
       .keys = no_keys,
       .biases = "11110"},
      {.name = "gpt2",
       .config = gpt_with([](GptConfig&) {}),
       .keys = [](auto&, GptConfig& c) { c.kv_heads = c.heads; },
       .biases = "11110"},
      {.name = "starcoder",
       .config = gpt_with([](GptConfig&) {}),
       .keys = [](auto&, GptConfig&) {},
       .biases = "11110"},
      {.name = "gptneox",
       .config = gpt_with([](GptConfig& c) {
         c.activation = Activation::gelu_erf;
         c.positions = GptPositions::rotary;
         c.projection = QkvProjection::fused_by_head;
       }),
       .keys =
           [](auto& keys, GptConfig& c) {
             parallel_key(keys, c);
             keys.ignore({"tensor_data_layout"});
           },
       .biases = "11110",
       .needs_head = true},
      {.name = "falcon",
       .config = gpt_with([](GptConfig& c) {
         c.activation = Activation::gelu_erf;
         c.positions = GptPositions::rotary;
         c.projection = QkvProjection::fused_by_head;
       }),
       .keys =
           [](auto& keys, GptConfig& c) {
             norms_of_file(keys, c, "blk.0.attn_norm_2.weight", GptResidual::parallel);
             keys.ignore({"tensor_data_layout"});
           },
       .names_if_parallel = {{"ln_1", "attn_norm_2"}, {"ln_2", "attn_norm"}},
       .biases = "00010"},
      {.name = "bloom",
       .config = gpt_with([](GptConfig& c) {
         c.embedding_norm = true;
         c.positions = GptPositions::linear_bias;
         c.projection = QkvProjection::fused_by_head;
       }),
       .keys = [](auto&, GptConfig&) {},
       .biases = "11110"},
      {.name = "mpt",
       .config = gpt_with([](GptConfig& c) {
         c.activation = Activation::gelu_erf;
         c.positions = GptPositions::linear_bias;
       }),
       .keys =
           [](auto& keys, GptConfig& c) {
             keys.required("attention.max_alibi_bias", c.linear_bias_max)
                 .optional("attention.clamp_kqv", c.clip_qkv, 0.0);
           },
       .biases = "????0"},
      {.name = "command-r",
       .config = cohere(),
       .keys =
           [](auto& keys, GptConfig& c) {
             keys.required("logit_scale", c.logit_multiplier);
             // Command R+ has norms of queries and keys.
             c.qk_norm = c.layers >= 64;
             c.qk_norm_form = GptQkNorm::each_head;
           },
       .adjacent = true},
      {.name = "cohere2",
       .config = cohere(),
       .keys =
           [](auto& keys, GptConfig& c) {
             keys.required("logit_scale", c.logit_multiplier);
             window_keys(keys, c, 4);
             same_window_base(keys, c);
             c.rotary_layers = c.window_layers;
           },
       .adjacent = true},
      {.name = "glm4",
       .config = llama_with([](GptConfig& c) {
         c.residual = GptResidual::sandwich;
         c.fused_gate = true;
         c.rotary_adjacent = true;
       }),
       .keys = [](auto&, GptConfig&) {},
       .adjacent = true},
      {.name = "exaone4",
       .config = llama_with([](GptConfig& c) {
         c.residual = GptResidual::inner_post_norm;
         c.qk_norm = true;
       }),
       .keys =
           [](auto& keys, GptConfig& c) {
             // Only the model with 64 layers has windows.
             if (c.layers != 64) {
               keys.ignored_by_llama_cpp("attention.sliding_window")
                   .ignore({"attention.sliding_window_pattern"});
               return;
             }
             window_keys(keys, c, 4, 4096);
             same_window_base(keys, c);
             c.rotary_layers = c.window_layers;
           },
       .names = kInnerNorms},
      {.name = "nemotron",
       .config = gpt_with([](GptConfig& c) {
         c.activation = Activation::relu2;
         c.norm_offset = true;
         c.positions = GptPositions::rotary;
         c.projection = QkvProjection::separate;
       }),
       .keys = [](auto&, GptConfig&) {},
       .biases = "???10",
       .needs_head = true},
      {.name = "gpt-oss",
       .config = llama_with([](GptConfig& c) {
         c.sinks = c.router_bias = c.expert_bias = true;
         c.activation = Activation::quick_gelu;
         c.expert_limit = 7;
       }),
       .keys =
           [](auto& keys, GptConfig& c) {
             expert_keys(keys, c);
             window_keys(keys, c, 2);
             same_window_base(keys, c);
           },
       .names = {{"ln_2", "post_attention_norm"}},
       .biases = "11000",
       .needs_head = true},
      {.name = "deepseek2",
       .config = llama_with([](GptConfig& c) {
         c.kv_rank = 1;  // read from a key
         c.rotary_adjacent = true;
         c.router_group_score = RouterGroupScore::best_two;
       }),
       .keys =
           [](auto& keys, GptConfig& c) {
             latent_keys(keys, c);
             expert_keys(keys, c);
             dense_layers_key(keys, c);
             gating_key(keys, c);
             // The shared experts form one block.
             std::int64_t shared = c.expert_width() == 0 ? 0 : c.shared_inner / c.expert_width();
             keys.required("expert_shared_count", shared)
                 .with_default("expert_weights_scale", c.expert_scale, 1.0)
                 .with_default("expert_weights_norm", c.normalize_experts, false)
                 .optional("expert_group_count", c.router_groups, std::int64_t{1})
                 .optional("expert_group_used_count", c.router_groups_per_token, std::int64_t{1});
             c.shared_inner = shared * c.expert_width();
           },
       .adjacent = true},
      {.name = "llama4",
       .config = llama_with([](GptConfig& c) {
         c.qk_norm_form = GptQkNorm::unweighted;
         c.rotary_adjacent = true;
         c.router_scores = RouterScores::sigmoid;
         c.normalize_experts = false;
         c.expert_input_weights = true;
       }),
       .keys =
           [](auto& keys, GptConfig& c) {
             expert_keys(keys, c);
             expert_step_key(keys, c);
             llama4_layers(keys, c);
             c.shared_inner = c.expert_width();
           },
       .adjacent = true},
  };
  return all;
}

const Architecture& find_architecture(const GgufFile& file) {
  constexpr const char* kKey = "general.architecture";
  const auto name = file.metadata.get<std::string>(kKey);
  std::vector<std::string> known;
  for (const Architecture& architecture : architectures()) {
    if (architecture.name == name) return architecture;
    known.push_back(architecture.name);
  }
  file.metadata.fail(
      kKey, fmt::format("the architecture {} is not supported{}; supported are {}", excerpt(name),
                        did_you_mean(name, known), list_names(known, known.size())));
}

}  // namespace weft::gguf
