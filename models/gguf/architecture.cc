// The table of architectures.
#include "weft/models/gguf/architecture.h"

#include <fmt/format.h>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/gguf/architecture_keys.h"

namespace weft::gguf {
namespace {

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
GptConfig neox() {
  return gpt_with([](GptConfig& c) {
    c.activation = Activation::gelu_erf;
    c.positions = GptPositions::rotary;
    c.projection = QkvProjection::fused_by_head;
  });
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

constexpr auto no_keys = [](auto&, GptConfig&) {};
constexpr auto ignored_window = [](auto& keys, GptConfig&) {
  keys.ignored_by_llama_cpp("attention.sliding_window");
};
const Names kInnerNorms = {{"ln_1", "post_attention_norm"}, {"ln_2", "post_ffw_norm"}};

}  // namespace

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> all = {
      {.name = "qwen2", .config = llama(), .keys = ignored_window, .biases = "10000"},
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
       .keys = ignored_window},
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
       .keys = ignored_window,
       .biases = "11111",
       .needs_head = true},
      {.name = "phi3",
       .config = llama_with([](GptConfig& c) { c.fused_gate = true; }),
       .keys = ignored_window},
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
       .keys = ignored_window,
       .biases = "11110"},
      {.name = "gpt2",
       .config = gpt_with([](GptConfig&) {}),
       .keys = [](auto&, GptConfig& c) { c.kv_heads = c.heads; },
       .biases = "11110"},
      {.name = "starcoder",
       .config = gpt_with([](GptConfig&) {}),
       .keys = no_keys,
       .biases = "11110"},
      {.name = "gptneox",
       .config = neox(),
       .keys =
           [](auto& keys, GptConfig& c) {
             parallel_key(keys, c);
             keys.ignore({"tensor_data_layout"});
           },
       .biases = "11110",
       .needs_head = true},
      {.name = "falcon",
       .config = neox(),
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
       .keys = no_keys,
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
       .keys = no_keys,
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
       .keys = no_keys,
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
  file.metadata.fail(kKey,
                     fmt::format("is {}, which is not supported{}; supported are {}", excerpt(name),
                                 did_you_mean(name, known), list_names(known, known.size())));
}

}  // namespace weft::gguf
