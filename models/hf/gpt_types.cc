// The table of the model types of the GPT family.
#include "weft/models/hf/gpt_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weft/core/error.h"
#include "weft/models/hf/rotary_keys.h"

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

/// Config keys that GPT-1 and GPT-2 share.
template <class Config>
void gpt_keys(Config& config, GptConfig& c) {
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
      .legacy("n_ctx", "n_positions", c.context)
      .ignore({"pad_token_id"});
}

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
}

/// Config keys of most decoders that derive from LLaMA.
template <class Config>
void llama_keys(Config& config, GptConfig& c) {
  decoder_keys(config, c);
  config.optional_size("num_key_value_heads", c.kv_heads)
      .optional_size("head_dim", c.head_dim)
      .field("rms_norm_eps", c.layer_norm_eps)
      .field("rope_theta", c.rotary_base)
      .optional_id("pad_token_id", c.padding_id)
      .fixed("partial_rotary_factor", 1, "rotary positions must cover all features of a head");
  rotary_keys(config, c);
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

/// Returns LLaMA's module names and further names within the blocks.
GptNames llama_names(const ModuleNames& further = {}) {
  GptNames names{.base = "model.",
                 .modules = {{"wte", "embed_tokens"}, {"ln_f", "norm"}},
                 .blocks = "layers",
                 .block_modules = {{"ln_1", "input_layernorm"},
                                   {"ln_2", "post_attention_layernorm"},
                                   {"attn.query", "self_attn.q_proj"},
                                   {"attn.key", "self_attn.k_proj"},
                                   {"attn.value", "self_attn.v_proj"},
                                   {"attn.c_proj", "self_attn.o_proj"},
                                   {"mlp.gate", "mlp.gate_proj"},
                                   {"mlp.c_fc", "mlp.up_proj"},
                                   {"mlp.c_proj", "mlp.down_proj"}}};
  names.block_modules.insert(names.block_modules.end(), further.begin(), further.end());
  return names;
}

/// In Hugging Face transformers, sliding_window does not count the query's own position, so
/// c.window is larger by one.
void window_key(ConfigReader& config, GptConfig& c) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max() - 1;
  std::int64_t window = c.window - 1;
  config.optional_id("sliding_window", window);
  c.window = window < 0 ? 0 : std::min(window, kMax) + 1;
}
void window_key(ConfigWriter& config, const GptConfig& c) {
  config.optional_id("sliding_window", c.window - 1);
}

/// Throws if a layer has a sliding window. layer_types takes precedence over the older keys.
void full_attention_keys(ConfigReader& config, const GptConfig& c) {
  bool windows = false;
  std::int64_t first_window = 28, window = 4096;
  config.field("use_sliding_window", windows)
      .field("max_window_layers", first_window)
      .optional_id("sliding_window", window);
  windows = windows && window >= 0 && first_window < c.layers;
  if (const std::vector<std::string> types = config.list("layer_types"); !types.empty()) {
    windows = std::any_of(types.begin(), types.end(),
                          [](const std::string& type) { return type != "full_attention"; });
  }
  if (windows) {
    throw ArgumentError(
        "config.json: use_sliding_window or layer_types specifies layers with a window, "
        "which are not supported for qwen3");
  }
}
void full_attention_keys(ConfigWriter& config, const GptConfig& c) {
  config.field("layer_types",
               std::vector<std::string>(static_cast<std::size_t>(c.layers), "full_attention"));
}

}  // namespace

const std::vector<GptType>& gpt_types() {
  static const std::vector<GptType> types = {
      {.name = "gpt2",
       .prefix = "GPT2",
       .defaults = {.embedding_dropout = 0.1, .attention_dropout = 0.1, .residual_dropout = 0.1},
       .keys =
           [](auto& config, GptConfig& c) {
             gpt_keys(config, c);
             config.optional_size("n_inner", c.inner)
                 .field("activation_function", c.activation)
                 .field("scale_attn_weights", c.scale_attention)
                 .field("scale_attn_by_inverse_layer_idx", c.scale_attention_by_inverse_layer)
                 // In float32, this upcast only changes the point at which a product is computed.
                 .ignore({"reorder_and_upcast_attn"});
           },
       .names = {.base = "transformer.",
                 .modules = {{"wte", "wte"}, {"wpe", "wpe"}, {"ln_f", "ln_f"}},
                 .blocks = "h",
                 .block_modules = {}},
       .language_model = "LMHeadModel",
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
             gpt_keys(config, c);
             config
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
       .takes_position_ids = false,
       .default_bos_id = 0},
      {.name = "llama",
       .prefix = "Llama",
       .defaults = llama_with([](GptConfig&) {}),
       .keys =
           [](auto& config, GptConfig& c) {
             llama_keys(config, c);
             config.field("attention_bias", c.attention_bias).field("mlp_bias", c.mlp_bias);
           },
       .names = llama_names(),
       .padded = {.added = true},
       .default_bos_id = 1},
      {.name = "mistral",
       .prefix = "Mistral",
       .defaults = llama_with([](GptConfig& c) {
         c.inner = 14336;
         c.context = 4096 * 32;
         c.kv_heads = 8;
         c.window = 4097;
       }),
       .keys =
           [](auto& config, GptConfig& c) {
             llama_keys(config, c);
             config.fixed("attention_bias", false, "Mistral has no biases")
                 .fixed("mlp_bias", false, "Mistral has no biases");
             window_key(config, c);
           },
       .names = llama_names(),
       .padded = {.score = -std::numeric_limits<double>::infinity()},
       .default_bos_id = 1},
      {.name = "qwen3",
       .prefix = "Qwen3",
       .defaults = llama_with([](GptConfig& c) {
         c.vocab = 151936;
         c.inner = 22016;
         c.context = 32768;
         c.kv_heads = 32;
         c.head_dim = 128;
         c.qk_norm = true;
       }),
       .keys =
           [](auto& config, GptConfig& c) {
             llama_keys(config, c);
             config.field("attention_bias", c.attention_bias);
             full_attention_keys(config, c);
           },
       .names = llama_names(
           {{"attn.query_norm", "self_attn.q_norm"}, {"attn.key_norm", "self_attn.k_norm"}}),
       .padded = {.added = true}}};
  return types;
}

}  // namespace weft::hf
