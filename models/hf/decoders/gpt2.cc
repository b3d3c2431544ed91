// Types that follow GPT-1 and GPT-2: learned positions or rotary positions in part of each head,
// layer norms, feed-forward blocks of two matrices.
#include <fmt/format.h>

#include <utility>

#include "weft/core/error.h"
#include "weft/models/families/layer_pattern.h"
#include "weft/models/hf/decoders/keys.h"

namespace weft::hf {
namespace {

/// Reads the activation of GPT-1. In GPT-1, unlike in other Hugging Face models, "gelu" is the tanh
/// approximation.
Activation gpt1_activation(const json& value) {
  std::string name;
  read_json(value, "afn", name);
  if (name == "gelu") return Activation::gelu_tanh;
  if (name == "relu" || name == "silu" || name == "swish") return parse_choice<Activation>(name);
  throw ArgumentError(
      fmt::format("config.json: afn is \"{}\"; supported are gelu, relu, silu and swish", name));
}

/// GPT-Neo: attention_types is a list of [types of some layers, number of repetitions], for example
/// [[["global", "local"], 12]]. attention_layers is the same list without the repetitions.
void gpt_neo_layer_keys(ConfigReader& config, GptConfig& c) {
  check_sizes(config, c);
  std::string pattern;
  const auto add = [&](const json& type) {
    std::string name;
    read_json(type, "attention_types", name);
    if (name != "global" && name != "local") {
      throw ArgumentError(fmt::format(
          "config.json: attention_types contains \"{}\"; supported are global and local", name));
    }
    pattern += name == "local" ? '1' : '0';
  };
  const auto invalid = [](const json& value) {
    throw FormatError(
        fmt::format("'attention_types' must be a list such as [[[\"global\", \"local\"], 12]], not "
                    "{}",
                    json_excerpt(value)));
  };
  if (const json* types = config.find("attention_types")) {
    if (!types->is_array()) invalid(*types);
    for (const json& entry : *types) {
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_array() || entry[0].empty())
        invalid(*types);
      std::int64_t repetitions = 0;
      read_json(entry[1], "attention_types", repetitions);
      for (std::int64_t i = 0; i < repetitions && std::ssize(pattern) <= c.layers; ++i) {
        for (const json& type : entry[0]) add(type);
      }
    }
  } else {
    pattern = "01";
  }
  if (const json* layers = config.find("attention_layers"); layers != nullptr) {
    const std::string before = std::exchange(pattern, "");
    if (!layers->is_array()) invalid(*layers);
    for (const json& type : *layers) add(type);
    if (config.find("attention_types") != nullptr && pattern != before)
      throw ArgumentError(
          "config.json: attention_layers and attention_types contradict each other: correct one of "
          "the two");
  }
  const bool listed =
      config.find("attention_types") != nullptr || config.find("attention_layers") != nullptr;
  if (listed && std::ssize(pattern) != c.layers) {
    throw ArgumentError(
        fmt::format("config.json: attention_types must list the types of all {} layers", c.layers));
  }
  if (pattern.find('1') == std::string::npos) {
    c.window = 0;
    pattern.clear();
  }
  c.window_layers = shortest_pattern(pattern, c.layers);
}
void gpt_neo_layer_keys(ConfigWriter& config, const GptConfig& c) {
  std::vector<std::string> types;
  for (std::int64_t i = 0; i < c.layers; ++i)
    types.emplace_back(c.has_window(i) ? "local" : "global");
  config.field("attention_layers", types);
  config.field("attention_types", json::array({json::array({types, 1})}));
}

/// GPT-J and CodeGen.
template <class Config>
void gptj_keys(Config& config, GptConfig& c) {
  gpt2_keys(config, c);
  config.optional_size("n_inner", c.inner)
      .field("activation_function", c.activation)
      .fixed("rotary", true, "other positions are not supported")
      .ignore({"n_ctx",  // the length is n_positions
               "scale_attn_weights"});
  check_sizes(config, c);
  rotary_size_key(config, c, "rotary_dim");
}

GptConfig gptj_defaults() {
  return {.vocab = 50400,
          .layers = 28,
          .heads = 16,
          .width = 4096,
          .context = 2048,
          .bias = false,
          .mlp_bias = true,
          .norm_bias = true,
          .head_bias = true,
          .tied_head = false,
          .residual = GptResidual::parallel_one_norm,
          .positions = GptPositions::rotary,
          .rotary_share = 0.25,
          .rotary_adjacent = true,
          .projection = QkvProjection::separate,
          .transposed = false};
}

/// GPT-2's module names, with further names in the blocks.
GptNames gpt2_names(const ModuleNames& block_modules = {}) {
  return {.base = "transformer.",
          .modules = {{"wte", "wte"}, {"wpe", "wpe"}, {"ln_f", "ln_f"}},
          .blocks = "h",
          .block_modules = block_modules};
}

/// OPT's decoder norms before or after each sublayer.
template <class Config>
void opt_norm_keys(Config& config, GptConfig& c) {
  bool before = c.residual == GptResidual::pre_norm, removed = before && !c.final_norm;
  config.field("do_layer_norm_before", before).field("_remove_final_layer_norm", removed);
  c.residual = before ? GptResidual::pre_norm : GptResidual::post_norm;
  c.final_norm = !removed;
}

}  // namespace

std::vector<GptType> gpt2_types() {
  return {
      {.name = "gpt2",
       .prefix = "GPT2",
       .defaults = {.embedding_dropout = 0.1, .attention_dropout = 0.1, .residual_dropout = 0.1},
       .keys =
           [](auto& config, GptConfig& c) {
             gpt2_keys(config, c);
             config.legacy("n_ctx", "n_positions", c.context)
                 .optional_size("n_inner", c.inner)
                 .field("activation_function", c.activation)
                 .field("scale_attn_weights", c.scale_attention)
                 .field("scale_attn_by_inverse_layer_idx", c.scale_attention_by_inverse_layer)
                 // In float32, this upcast only changes the point at which a product is computed.
                 .ignore({"reorder_and_upcast_attn"});
           },
       .names = gpt2_names(),
       .language_model = "LMHeadModel",
       .token_scores = "classifier",
       .padded = {},
       .takes_token_type_ids = true,
       .default_bos_id = 50256},
      {.name = "openai-gpt",
       .prefix = "OpenAIGPT",
       .defaults = {.vocab = 40478,
                    .context = 512,
                    .residual = GptResidual::post_norm,
                    .embedding_dropout = 0.1,
                    .attention_dropout = 0.1,
                    .residual_dropout = 0.1},
       .keys =
           [](auto& config, GptConfig& c) {
             gpt2_keys(config, c);
             config.legacy("n_ctx", "n_positions", c.context)
                 .converted(
                     "afn", [&](const json& value) { c.activation = gpt1_activation(value); },
                     [&]() -> json {
                       const bool gelu = c.activation == Activation::gelu_tanh;
                       return std::string(gelu ? "gelu" : choice_name(c.activation));
                     })
                 .ignore({"n_special", "predict_special_tokens"});
           },
       .names = {.base = "transformer.",
                 .modules = {{"wte", "tokens_embed"}, {"wpe", "positions_embed"}},
                 .blocks = "h",
                 .block_modules = {}},
       .language_model = "LMHeadModel",
       .token_scores = "",
       .padded = {.score = -1e4},
       .takes_token_type_ids = true},
      {.name = "gpt_neox",
       .prefix = "GPTNeoX",
       .defaults = {.vocab = 50432,
                    .layers = 44,
                    .heads = 64,
                    .width = 6144,
                    .context = 2048,
                    .inner = 24576,
                    .activation = Activation::gelu_erf,
                    .tied_head = false,
                    .residual = GptResidual::parallel,
                    .positions = GptPositions::rotary,
                    .rotary_share = 0.25,
                    .projection = QkvProjection::fused_by_head,
                    .transposed = false},
       .keys =
           [](auto& config, GptConfig& c) {
             decoder_keys(config, c);
             config.field("rotary_pct", c.rotary_share)
                 .field("rotary_emb_base", c.rotary_base)
                 .field("layer_norm_eps", c.layer_norm_eps)
                 .converted(
                     "use_parallel_residual",
                     [&](const json& value) {
                       bool parallel = true;
                       read_json(value, "use_parallel_residual", parallel);
                       c.residual = parallel ? GptResidual::parallel : GptResidual::pre_norm;
                     },
                     [&]() -> json { return c.residual == GptResidual::parallel; })
                 .field("hidden_dropout", c.residual_dropout)
                 .fixed("attention_bias", true, "attention without biases is not supported")
                 // Newer files also store rotary_emb_base and rotary_pct under these names.
                 .repeated("rope_theta", "rotary_emb_base", c.rotary_base)
                 .repeated("partial_rotary_factor", "rotary_pct", c.rotary_share)
                 .ignore({"pad_token_id"});
             rotary_keys(config, c, true);
             c.embedding_dropout = c.residual_dropout;
           },
       .names = {.base = "gpt_neox.",
                 .modules = {{"wte", "embed_in"}, {"ln_f", "final_layer_norm"}},
                 .blocks = "layers",
                 .block_modules = {{"ln_1", "input_layernorm"},
                                   {"ln_2", "post_attention_layernorm"},
                                   {"attn.c_attn", "attention.query_key_value"},
                                   {"attn.c_proj", "attention.dense"},
                                   {"mlp.c_fc", "mlp.dense_h_to_4h"},
                                   {"mlp.c_proj", "mlp.dense_4h_to_h"}},
                 .head = "embed_out"},
       .token_scores = "classifier",
       .padded = {},
       .takes_position_ids = false,
       .default_bos_id = 0},
      {.name = "gpt_bigcode",
       .prefix = "GPTBigCode",
       .defaults = {.kv_heads = 1,
                    .transposed = false,
                    .embedding_dropout = 0.1,
                    .attention_dropout = 0.1,
                    .residual_dropout = 0.1},
       .keys =
           [](auto& config, GptConfig& c) {
             gpt2_keys(config, c);
             bool one_key_head = c.projection == QkvProjection::fused;
             config.optional_size("n_inner", c.inner)
                 .field("activation_function", c.activation)
                 .field("scale_attn_weights", c.scale_attention)
                 .field("multi_query", one_key_head)
                 // Both only change the precision in which the softmax is computed.
                 .ignore({"attention_softmax_in_fp32", "scale_attention_softmax_in_fp32",
                          "num_key_value_heads", "validate_runner_input", "pre_allocate_kv_cache",
                          "pad_key_length", "inference_runner", "max_batch_size", "n_ctx"});
             c.kv_heads = one_key_head ? 1 : c.heads;
             c.projection = one_key_head ? QkvProjection::fused : QkvProjection::fused_by_head;
           },
       .names = gpt2_names(),
       .token_scores = "classifier",
       .padded = {},
       .takes_token_type_ids = true,
       .default_bos_id = 50256},
      {.name = "gpt_neo",
       .prefix = "GPTNeo",
       .defaults = {.layers = 24,
                    .heads = 16,
                    .width = 2048,
                    .context = 2048,
                    .bias = false,
                    .attention_out_bias = true,
                    .mlp_bias = true,
                    .norm_bias = true,
                    .projection = QkvProjection::separate,
                    .transposed = false,
                    .window = 256,
                    .window_layers = "01",
                    .scale_attention = false},
       .keys =
           [](auto& config, GptConfig& c) {
             config.field("vocab_size", c.vocab)
                 .field("max_position_embeddings", c.context)
                 .field("hidden_size", c.width)
                 .field("num_layers", c.layers)
                 .field("num_heads", c.heads)
                 .repeated("num_hidden_layers", "num_layers", c.layers)
                 .repeated("num_attention_heads", "num_heads", c.heads)
                 .optional_size("intermediate_size", c.inner)
                 .field("activation_function", c.activation)
                 .field("layer_norm_epsilon", c.layer_norm_eps)
                 .field("initializer_range", c.initializer_range)
                 .field("tie_word_embeddings", c.tied_head)
                 .field("embed_dropout", c.embedding_dropout)
                 .field("attention_dropout", c.attention_dropout)
                 .field("resid_dropout", c.residual_dropout)
                 .field("window_size", c.window)
                 .ignore({"pad_token_id"});
             gpt_neo_layer_keys(config, c);
           },
       .names = gpt2_names({{"attn.query", "attn.attention.q_proj"},
                            {"attn.key", "attn.attention.k_proj"},
                            {"attn.value", "attn.attention.v_proj"},
                            {"attn.c_proj", "attn.attention.out_proj"}}),
       .token_scores = "classifier",
       .padded = {},
       .takes_token_type_ids = true,
       .default_bos_id = 50256},
      {.name = "gptj",
       .prefix = "GPTJ",
       .defaults = gptj_defaults(),
       .keys = [](auto& config, GptConfig& c) { gptj_keys(config, c); },
       .names = gpt2_names({{"attn.query", "attn.q_proj"},
                            {"attn.key", "attn.k_proj"},
                            {"attn.value", "attn.v_proj"},
                            {"attn.c_proj", "attn.out_proj"},
                            {"mlp.c_fc", "mlp.fc_in"},
                            {"mlp.c_proj", "mlp.fc_out"}}),
       .token_scores = "",
       .takes_token_type_ids = true,
       .default_bos_id = 50256},
      {.name = "codegen",
       .prefix = "CodeGen",
       .defaults =
           [] {
             GptConfig c = gptj_defaults();
             c.projection = QkvProjection::fused_by_quarter;
             return c;
           }(),
       .keys = [](auto& config, GptConfig& c) { gptj_keys(config, c); },
       .names = gpt2_names({{"attn.c_attn", "attn.qkv_proj"},
                            {"attn.c_proj", "attn.out_proj"},
                            {"mlp.c_fc", "mlp.fc_in"},
                            {"mlp.c_proj", "mlp.fc_out"}}),
       .token_scores = "",
       .has_sequence_classifier = false,
       .takes_token_type_ids = true,
       .default_bos_id = 1},
      {.name = "opt",
       .prefix = "OPT",
       .defaults = {.vocab = 50272,
                    .context = 2048,
                    .inner = 3072,
                    .activation = Activation::relu,
                    .norm_bias = true,
                    .position_offset = 2,
                    .masked_positions = true,
                    .projection = QkvProjection::separate,
                    .transposed = false,
                    .padding_id = 1,
                    .residual_dropout = 0.1},
       .keys =
           [](auto& config, GptConfig& c) {
             config.field("vocab_size", c.vocab)
                 .field("max_position_embeddings", c.context)
                 .field("hidden_size", c.width)
                 .field("num_hidden_layers", c.layers)
                 .field("num_attention_heads", c.heads)
                 .field("ffn_dim", c.inner)
                 .field("activation_function", c.activation)
                 .field("init_std", c.initializer_range)
                 .field("tie_word_embeddings", c.tied_head)
                 .field("dropout", c.residual_dropout)
                 .field("attention_dropout", c.attention_dropout)
                 .field("enable_bias", c.bias)
                 .field("layer_norm_elementwise_affine", c.norm_weights)
                 .optional_size("word_embed_proj_dim", c.embedding_width)
                 .optional_id("pad_token_id", c.padding_id)
                 .fixed("layerdrop", 0, "training that skips layers is not supported")
                 .ignore({"activation_dropout"});  // transformers never read it
             opt_norm_keys(config, c);
             c.norm_bias = c.norm_weights;
           },
       .names = {.base = "model.",
                 .modules = {{"wte", "decoder.embed_tokens"},
                             {"wpe", "decoder.embed_positions"},
                             {"project_in", "decoder.project_in"},
                             {"project_out", "decoder.project_out"},
                             {"ln_f", "decoder.final_layer_norm"}},
                 .blocks = "decoder.layers",
                 .block_modules = {{"ln_1", "self_attn_layer_norm"},
                                   {"ln_2", "final_layer_norm"},
                                   {"attn.query", "self_attn.q_proj"},
                                   {"attn.key", "self_attn.k_proj"},
                                   {"attn.value", "self_attn.v_proj"},
                                   {"attn.c_proj", "self_attn.out_proj"},
                                   {"mlp.c_fc", "fc1"},
                                   {"mlp.c_proj", "fc2"}}},
       .token_scores = "",
       .default_bos_id = 2}};
}

}  // namespace weft::hf
