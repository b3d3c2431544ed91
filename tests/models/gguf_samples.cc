#include "gguf_samples.h"

#include <cmath>

#include "weft/core/random.h"
#include "weft/graph/run/session.h"
#include "weft/models/data/rng.h"
#include "weft/models/families/gpt.h"
#include "weft/models/text/tokenizers/subwords/byte_pieces.h"
#include "weft/serialization/match_tensors.h"

namespace weft {
namespace {

/// Sizes of all samples.
GptConfig sized(GptConfig c) {
  c.vocab = 300;
  c.layers = 3;
  c.heads = 4;
  c.kv_heads = 2;
  c.width = 64;
  c.inner = 96;
  c.context = 256;
  c.layer_norm_eps = 1e-5;
  return c;
}
template <class Change>
GptConfig llama_with(const Change& change) {
  GptConfig c = sized(GptConfig::llama());
  change(c);
  return c;
}
template <class Change>
GptConfig gpt_with(const Change& change) {
  GptConfig c = sized(GptConfig());
  c.transposed = false;
  c.tied_head = false;
  c.kv_heads = 0;
  change(c);
  return c;
}
GptConfig gemma(GptResidual residual) {
  return llama_with([&](GptConfig& c) {
    c.activation = Activation::gelu_tanh;
    c.norm_offset = c.tied_head = true;
    c.residual = residual;
    c.head_dim = 32;
    c.embedding_multiplier = 8;  // the square root of the width
  });
}
GptConfig cohere() {
  return llama_with([](GptConfig& c) {
    c.norm = GptNorm::layer_norm;
    c.residual = GptResidual::parallel_one_norm;
    c.rotary_adjacent = c.tied_head = true;
    c.logit_multiplier = 0.0625;
  });
}
void make_experts(GptConfig& c) {
  c.experts = 5;
  c.experts_per_token = 2;
  c.expert_inner = 32;
}

std::vector<GgufSample> make_samples() {
  std::vector<GgufSample> all;
  const auto add = [&](const char* name, const char* architecture, GptConfig config,
                       bool gelu = false) {
    all.push_back({name, architecture, std::move(config), gelu});
  };
  add("llama", "llama", llama_with([](GptConfig&) {}));
  add("llama-biases", "llama", llama_with([](GptConfig& c) {
        c.attention_bias = c.mlp_bias = c.tied_head = true;
        c.head_dim = 32;
      }));
  add("llama-linear", "llama", llama_with([](GptConfig& c) {
        c.rotary_scaling = RotaryScalingKind::linear;
        c.rotary_factor = 4;
      }));
  add("llama-yarn", "llama", llama_with([](GptConfig& c) {
        c.rotary_scaling = RotaryScalingKind::yarn;
        c.rotary_factor = 8;
        c.rotary_context = 32;
      }));
  add("llama-llama3", "llama", llama_with([](GptConfig& c) {
        c.rotary_scaling = RotaryScalingKind::llama3;
        c.rotary_factor = 8;
        c.rotary_context = 64;
      }));
  add("mixtral", "llama", llama_with([](GptConfig& c) {
        make_experts(c);
        c.expert_inner = 0;
      }));
  add("ministral3", "mistral3", llama_with([](GptConfig& c) {
        c.rotary_scaling = RotaryScalingKind::yarn;
        c.rotary_factor = 8;
        c.rotary_context = 4;
        c.rotary_mscale = c.rotary_mscale_all = 1;
        c.query_growth = 0.1;
        c.query_growth_context = 4;
      }));
  add("qwen2", "qwen2", llama_with([](GptConfig& c) { c.qkv_bias = c.tied_head = true; }));
  add("qwen3", "qwen3", llama_with([](GptConfig& c) {
        c.qk_norm = true;
        c.head_dim = 32;
        c.rotary_base = 1e6;
      }));
  add("qwen2moe", "qwen2moe", llama_with([](GptConfig& c) {
        make_experts(c);
        c.qkv_bias = c.shared_gate = true;
        c.normalize_experts = false;
        c.shared_inner = 64;
      }));
  add("qwen3moe", "qwen3moe", llama_with([](GptConfig& c) {
        make_experts(c);
        c.qk_norm = true;
        c.head_dim = 32;
      }));
  add("gemma", "gemma", gemma(GptResidual::pre_norm), true);
  add(
      "gemma2", "gemma2",
      [] {
        GptConfig c = gemma(GptResidual::sandwich);
        c.window = 4;
        c.window_layers = "10";
        c.attention_soft_cap = 50;
        c.logit_soft_cap = 30;
        c.attention_scale = 1 / std::sqrt(32.0);
        return c;
      }(),
      true);
  add(
      "gemma3", "gemma3",
      [] {
        GptConfig c = gemma(GptResidual::sandwich);
        c.layers = 7;
        c.qk_norm = true;
        c.window = 4;
        c.window_layers = "111110";
        c.rotary_base = 1e6;
        c.rotary_window_base = 10000;
        c.rotary_scaling = RotaryScalingKind::linear;
        c.rotary_factor = 8;
        return c;
      }(),
      true);
  add("phi2", "phi2", gpt_with([](GptConfig& c) {
        c.residual = GptResidual::parallel_one_norm;
        c.positions = GptPositions::rotary;
        c.rotary_share = 0.5;
        c.projection = QkvProjection::separate;
        c.head_bias = true;
      }),
      true);
  add("phi3", "phi3", llama_with([](GptConfig& c) {
        c.fused_gate = true;
        c.projection = QkvProjection::fused;
      }));
  add("phi3-longrope", "phi3", llama_with([](GptConfig& c) {
        c.fused_gate = true;
        c.projection = QkvProjection::fused;
        c.rotary_scaling = RotaryScalingKind::longrope;
        // llama.cpp selects the factors by the size of its cache, which is at least 256.
        c.context = 1024;
        c.rotary_context = 256;
        c.rotary_factor = 4;
        for (int i = 0; i < 8; ++i) {
          c.rotary_short_factors.push_back(1 + 0.25 * i);
          c.rotary_long_factors.push_back(2 + 0.5 * i);
        }
      }));
  add("granite", "granite", llama_with([](GptConfig& c) {
        c.embedding_multiplier = 12;
        c.residual_multiplier = 0.22;
        c.attention_scale = 0.0625;
        c.logit_multiplier = 1 / 8.0;
        c.tied_head = true;
      }));
  add("olmo", "olmo", llama_with([](GptConfig& c) {
        c.norm = GptNorm::layer_norm;
        c.norm_weights = false;
        c.clip_qkv = 0.75;
      }));
  add("olmo2", "olmo2", llama_with([](GptConfig& c) {
        c.residual = GptResidual::inner_post_norm;
        c.qk_norm = true;
        c.qk_norm_form = GptQkNorm::all_heads;
      }));
  add("olmo2-windows", "olmo2", llama_with([](GptConfig& c) {  // OLMo 3
        c.layers = 5;
        c.residual = GptResidual::inner_post_norm;
        c.qk_norm = true;
        c.qk_norm_form = GptQkNorm::all_heads;
        c.window = 4;
        c.window_layers = "1110";
        c.rotary_base = c.rotary_window_base = 5e5;
        c.rotary_scaling = RotaryScalingKind::yarn;
        c.rotary_factor = 8;
        c.rotary_context = 32;
      }));
  add("olmoe", "olmoe", llama_with([](GptConfig& c) {
        make_experts(c);
        c.kv_heads = c.expert_inner = 0;
        c.qk_norm = true;
        c.qk_norm_form = GptQkNorm::all_heads;
        c.normalize_experts = false;
      }));
  add("smollm3", "smollm3", llama_with([](GptConfig& c) {
        c.layers = 5;
        c.rotary_layers = "1110";
        c.tied_head = true;
      }));
  add("stablelm", "stablelm", llama_with([](GptConfig& c) {
        c.norm = GptNorm::layer_norm;
        c.norm_bias = c.qkv_bias = true;
        c.rotary_share = 0.25;
      }));
  add("stablelm-parallel", "stablelm", llama_with([](GptConfig& c) {
        c.norm = GptNorm::layer_norm;
        c.norm_bias = c.qk_norm = true;
        c.qk_norm_form = GptQkNorm::each_head;
        c.qk_norm_bias = false;
        c.residual = GptResidual::parallel_one_norm;
        c.rotary_share = 0.25;
      }));
  add("starcoder2", "starcoder2", gpt_with([](GptConfig& c) {
        c.kv_heads = 2;
        c.positions = GptPositions::rotary;
        c.projection = QkvProjection::separate;
        c.tied_head = true;
      }),
      true);
  add("starcoder", "starcoder", gpt_with([](GptConfig& c) {
        c.kv_heads = 1;
        c.tied_head = true;
      }),
      true);
  add("gpt2", "gpt2", gpt_with([](GptConfig& c) { c.transposed = c.tied_head = true; }), true);
  for (const bool parallel : {true, false}) {
    add(parallel ? "gptneox" : "gptneox-serial", "gptneox", gpt_with([&](GptConfig& c) {
          c.activation = Activation::gelu_erf;
          c.residual = parallel ? GptResidual::parallel : GptResidual::pre_norm;
          c.positions = GptPositions::rotary;
          c.rotary_share = 0.25;
          c.projection = QkvProjection::fused_by_head;
        }),
        true);
  }
  for (const bool two : {false, true}) {
    add(two ? "falcon-two-norms" : "falcon", "falcon", gpt_with([&](GptConfig& c) {
          c.kv_heads = two ? 2 : 1;
          c.bias = false;
          c.norm_bias = c.tied_head = true;
          c.activation = Activation::gelu_erf;
          c.residual = two ? GptResidual::parallel : GptResidual::parallel_one_norm;
          c.positions = GptPositions::rotary;
          c.projection = QkvProjection::fused_by_head;
        }),
        true);
  }
  add("bloom", "bloom", gpt_with([](GptConfig& c) {
        c.embedding_norm = c.tied_head = true;
        c.positions = GptPositions::linear_bias;
        c.projection = QkvProjection::fused_by_head;
      }),
      true);
  add("mpt", "mpt", gpt_with([](GptConfig& c) {
        c.bias = false;
        c.tied_head = true;
        c.activation = Activation::gelu_erf;
        c.positions = GptPositions::linear_bias;
        c.linear_bias_max = 16;
        c.clip_qkv = 0.75;
      }),
      true);
  add("command-r", "command-r", cohere());
  add("command-r-norms", "command-r", [] {
    GptConfig c = cohere();
    c.layers = 64;
    c.qk_norm = true;
    c.qk_norm_form = GptQkNorm::each_head;
    return c;
  }());
  add("cohere2", "cohere2", [] {
    GptConfig c = cohere();
    c.layers = 5;
    c.window = 4;
    c.window_layers = c.rotary_layers = "1110";
    return c;
  }());
  add("glm4", "glm4", llama_with([](GptConfig& c) {
        c.residual = GptResidual::sandwich;
        c.fused_gate = c.rotary_adjacent = c.qkv_bias = true;
        c.rotary_share = 0.5;
      }));
  add("exaone4", "exaone4", llama_with([](GptConfig& c) {
        c.residual = GptResidual::inner_post_norm;
        c.qk_norm = true;
      }));
  add("exaone4-windows", "exaone4", llama_with([](GptConfig& c) {
        c.layers = 64;
        c.residual = GptResidual::inner_post_norm;
        c.qk_norm = true;
        c.window = 4;
        c.window_layers = c.rotary_layers = "1110";
      }));
  add("nemotron", "nemotron", gpt_with([](GptConfig& c) {
        c.kv_heads = 2;
        c.bias = false;
        c.norm_bias = c.norm_offset = true;
        c.activation = Activation::relu2;
        c.positions = GptPositions::rotary;
        c.rotary_share = 0.5;
        c.projection = QkvProjection::separate;
      }));
  add("gpt-oss", "gpt-oss", llama_with([](GptConfig& c) {
        make_experts(c);
        c.head_dim = 32;
        c.attention_bias = c.sinks = c.router_bias = c.expert_bias = true;
        c.activation = Activation::quick_gelu;
        c.expert_limit = 7;
        c.window = 4;
        c.window_layers = "10";
        c.rotary_scaling = RotaryScalingKind::yarn;
        c.rotary_factor = 8;
        c.rotary_context = 32;
      }));
  add("deepseek2", "deepseek2", llama_with([](GptConfig& c) {
        make_experts(c);
        c.kv_heads = 0;
        c.head_dim = 48;  // 32 + 16
        c.kv_rank = 32;
        c.query_rank = 32;
        c.latent_rotary = 16;
        c.value_dim = 32;
        c.rotary_adjacent = true;
        c.experts = 8;
        c.router_groups = 4;
        c.router_groups_per_token = 2;
        c.router_group_score = RouterGroupScore::best_two;
        c.router_scores = RouterScores::sigmoid;
        c.router_correction = true;
        c.expert_scale = 2.5;
        c.expert_layers = "011";
        c.shared_inner = 64;
        c.rotary_scaling = RotaryScalingKind::yarn;
        c.rotary_factor = 8;
        c.rotary_context = 32;
        c.rotary_mscale = c.rotary_mscale_all = 0.75;
      }));
  add("deepseek2-lite", "deepseek2", llama_with([](GptConfig& c) {
        make_experts(c);
        c.layers = 27;  // llama.cpp expects a compression of queries in all other models
        c.kv_heads = 0;
        c.head_dim = 48;
        c.kv_rank = 32;
        c.latent_rotary = 16;
        c.value_dim = 32;
        c.rotary_adjacent = true;
        c.normalize_experts = false;
        c.expert_layers = "0" + std::string(26, '1');
        c.shared_inner = 64;
      }));
  add("llama4", "llama4", llama_with([](GptConfig& c) {
        c.layers = 4;
        make_experts(c);
        c.experts_per_token = 1;
        c.expert_layers = "01";
        c.shared_inner = c.expert_inner;
        c.router_scores = RouterScores::sigmoid;
        c.normalize_experts = false;
        c.expert_input_weights = true;
        c.qk_norm = true;
        c.qk_norm_form = GptQkNorm::unweighted;
        c.rotary_adjacent = true;
        c.window = 8192;
        c.window_chunks = true;
        c.window_layers = c.rotary_layers = "1110";
        c.query_growth = 0.1;
        c.query_growth_context = 8192;
        c.query_growth_offset = 1;
        c.query_growth_layers = "0001";
      }));
  return all;
}

}  // namespace

const std::vector<GgufSample>& gguf_samples() {
  static const std::vector<GgufSample> all = make_samples();
  return all;
}

Tokenizer gguf_tokenizer() {
  SentencePieceModel model;
  using Kind = SentencePieceModel::Kind;
  model.pieces = {
      {"<unk>", 0, Kind::unknown}, {"<s>", 0, Kind::control}, {"</s>", 0, Kind::control}};
  for (int byte = 0; byte < 256; ++byte)
    model.pieces.push_back({byte_piece(static_cast<unsigned char>(byte)), 0, Kind::byte});
  float score = 0;
  for (const char* piece : {"\u2581a", "er", "th", "\u2581th", "\u2581the", "in", "\u2581", "a",
                            "e", "h", "i", "n", "r", "t"})
    model.pieces.push_back({piece, score--, Kind::normal});
  model.byte_fallback = true;
  model.normalizer = {.name = "identity",
                      .compiled_map = {},
                      .dummy_prefix = true,
                      .remove_extra_whitespace = false};
  return SentencePieceTokenizer(std::move(model));
}

std::unique_ptr<LanguageModel> gguf_model(const GptConfig& config) {
  auto model = std::make_unique<LanguageModel>(
      build_language_model(config, gguf_tokenizer(), TrainSettings()));
  for (const Variable& variable : weight_variables(*model->graph)) {
    const std::string& name = variable.name();
    Tensor value = Tensor::empty(DType::f32, variable.info().type.shape.evaluate({}));
    Rng rng(stable_hash(name, 1));
    const bool norm = name.find("ln_") != name.npos || name.find("norm") != name.npos;
    const bool stored_minus_one = config.norm_offset;
    const double center = norm && name.ends_with(".weight") && !stored_minus_one ? 1 : 0;
    const double spread = value.rank() < 2 ? 0.3 : 0.25;
    for (float& v : std::span(value.mutable_data<float>(), static_cast<std::size_t>(value.numel())))
      v = static_cast<float>(center + spread * (2 * rng.uniform() - 1));
    model->store->insert(name, variable.info().kind, std::move(value));
  }
  return model;
}

Tensor gguf_logits(const LanguageModel& model, const std::vector<std::int32_t>& ids) {
  Program program("logits");
  program.output("logits", model.graph->find_named("logits"));
  Session session(*model.graph, model.store);
  const auto count = static_cast<std::int64_t>(ids.size());
  const Tensor logits =
      session.run(program, {{"tokens", Tensor::of<std::int32_t>({1, count}, ids)}})["logits"];
  return logits.reshape({count, logits.size(2)});
}

}  // namespace weft
