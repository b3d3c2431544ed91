// The GPT family: GPT-1, GPT-2, GPT-NeoX, LLaMA and Mistral.
#include "weft/models/hf/gpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "weft/core/error.h"
#include "weft/models/families/gpt.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/hf/config_writer.h"
#include "weft/models/hf/request.h"

namespace weft::hf {
namespace {

/// Pairs of module names: the name in Weft and the name in Hugging Face transformers. The names of
/// modules within a block are relative to the block.
using Names = std::vector<std::pair<std::string, std::string>>;

/// Reads the settings of rotary positions from rope_scaling or, in newer files, from
/// rope_parameters, which also contains the base. c.context must be set before the call.
void rotary_keys(ConfigReader& config, GptConfig& c, bool partial) {
  const char* key = "rope_parameters";
  const json* found = config.find(key);
  if (const json* scaling = config.find("rope_scaling")) {
    if (found != nullptr && *found != *scaling)
      throw ArgumentError("config.json: rope_scaling and rope_parameters differ: specify only one");
    key = "rope_scaling";
    found = scaling;
  }
  if (found == nullptr) return;
  ConfigReader rotary(found->dump(), fmt::format("config.json: {}", key));
  // "type" is the older name of "rope_type". If a file has both, "rope_type" takes precedence.
  std::string type = "default";
  rotary.field("type", type).field("rope_type", type).field("rope_theta", c.rotary_base);
  if (partial) rotary.field("partial_rotary_factor", c.rotary_share);
  const auto number = [&](const char* name, auto& value) {
    if (rotary.find(name) == nullptr)
      throw ArgumentError(
          fmt::format("config.json: {} of type \"{}\" requires {}", key, type, name));
    rotary.field(name, value);
  };
  if (type == "linear" || type == "dynamic" || type == "llama3") {
    c.rotary_scaling = parse_choice<RotaryScalingKind>(type);
    number("factor", c.rotary_factor);
    if (type == "dynamic") c.rotary_context = c.context;
    if (type == "llama3") {
      number("low_freq_factor", c.rotary_low_factor);
      number("high_freq_factor", c.rotary_high_factor);
      number("original_max_position_embeddings", c.rotary_context);
    }
  } else if (type != "default") {
    throw ArgumentError(fmt::format(
        "config.json: {} has the type \"{}\"; supported are default, linear, dynamic and llama3",
        key, type));
  }
  rotary.finish("rotary positions");
}

void rotary_keys(ConfigWriter& config, const GptConfig& c, bool) {
  if (c.rotary_scaling == RotaryScalingKind::none) return;
  json scaling = {{"type", choice_name(c.rotary_scaling)},
                  {"rope_type", choice_name(c.rotary_scaling)},
                  {"factor", c.rotary_factor}};
  if (c.rotary_scaling == RotaryScalingKind::llama3) {
    scaling["low_freq_factor"] = c.rotary_low_factor;
    scaling["high_freq_factor"] = c.rotary_high_factor;
    scaling["original_max_position_embeddings"] = c.rotary_context;
  }
  config.field("rope_scaling", scaling);
}

GptConfig gpt2_defaults() {
  GptConfig c;
  c.embedding_dropout = c.attention_dropout = c.residual_dropout = 0.1;
  return c;
}

template <class Config>
void gpt2_keys(Config& config, GptConfig& c) {
  // "n_ctx" is the older name of "n_positions". If a file has both, "n_positions" takes precedence.
  config.legacy("n_ctx", c.context).field("n_positions", c.context);
  config.field("vocab_size", c.vocab)
      .field("n_embd", c.width)
      .field("n_layer", c.layers)
      .field("n_head", c.heads)
      .optional_size("n_inner", c.inner)
      .field("activation_function", c.activation)
      .field("layer_norm_epsilon", c.layer_norm_eps)
      .field("initializer_range", c.initializer_range)
      .field("embd_pdrop", c.embedding_dropout)
      .field("attn_pdrop", c.attention_dropout)
      .field("resid_pdrop", c.residual_dropout)
      .field("scale_attn_weights", c.scale_attention)
      .field("scale_attn_by_inverse_layer_idx", c.scale_attention_by_inverse_layer)
      .field("tie_word_embeddings", c.tied_head)
      // In float32, this upcast only changes the point at which a product is computed.
      .ignore({"reorder_and_upcast_attn", "pad_token_id"});
}

GptConfig gpt1_defaults() {
  GptConfig c = gpt2_defaults();
  c.vocab = 40478;
  c.context = 512;
  c.residual = GptResidual::post_norm;
  return c;
}

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

template <class Config>
void gpt1_keys(Config& config, GptConfig& c) {
  config
      .converted(
          "afn", [&](const json& value) { c.activation = gpt1_activation(value); },
          [&]() -> json {
            const bool gelu = c.activation == Activation::gelu_tanh;
            return std::string(gelu ? "gelu" : choice_name(c.activation));
          })
      .field("vocab_size", c.vocab)
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
      .ignore({"n_ctx", "n_special", "predict_special_tokens", "pad_token_id"});
}

GptConfig gpt_neox_defaults() {
  GptConfig c;
  c.vocab = 50432;
  c.width = 6144;
  c.layers = 44;
  c.heads = 64;
  c.inner = 24576;
  c.context = 2048;
  c.activation = Activation::gelu_erf;
  c.tied_head = false;
  c.positions = GptPositions::rotary;
  c.rotary_share = 0.25;
  c.residual = GptResidual::parallel;
  c.projection = QkvProjection::fused_by_head;
  c.transposed = false;
  return c;
}

template <class Config>
void gpt_neox_keys(Config& config, GptConfig& c) {
  config.field("vocab_size", c.vocab)
      .field("hidden_size", c.width)
      .field("num_hidden_layers", c.layers)
      .field("num_attention_heads", c.heads)
      .field("intermediate_size", c.inner)
      .field("hidden_act", c.activation)
      .field("rotary_pct", c.rotary_share)
      .field("rotary_emb_base", c.rotary_base)
      .field("max_position_embeddings", c.context)
      .field("initializer_range", c.initializer_range)
      .field("layer_norm_eps", c.layer_norm_eps)
      .field("tie_word_embeddings", c.tied_head)
      .converted(
          "use_parallel_residual",
          [&](const json& value) {
            bool parallel = true;
            read_json(value, "use_parallel_residual", parallel);
            c.residual = parallel ? GptResidual::parallel : GptResidual::pre_norm;
          },
          [&]() -> json { return c.residual == GptResidual::parallel; })
      .field("attention_dropout", c.attention_dropout)
      .field("hidden_dropout", c.residual_dropout)
      .fixed("attention_bias", true, "attention without biases is not supported")
      // Newer files also store rotary_emb_base and rotary_pct under these names.
      .repeated("rope_theta", c.rotary_base)
      .repeated("partial_rotary_factor", c.rotary_share)
      .ignore({"pad_token_id", "classifier_dropout"});
  rotary_keys(config, c, true);
}

GptConfig llama_defaults() {
  GptConfig c = GptConfig::llama();
  c.width = 4096;
  c.layers = c.heads = 32;
  c.inner = 11008;
  c.context = 2048;
  c.layer_norm_eps = 1e-6;
  return c;
}

GptConfig mistral_defaults() {
  GptConfig c = llama_defaults();
  c.inner = 14336;
  c.context = 4096 * 32;
  c.kv_heads = 8;
  c.window = 4097;
  return c;
}

/// Config keys that LLaMA and Mistral share.
template <class Config>
void llama_family_keys(Config& config, GptConfig& c) {
  config.field("vocab_size", c.vocab)
      .field("hidden_size", c.width)
      .field("intermediate_size", c.inner)
      .field("num_hidden_layers", c.layers)
      .field("num_attention_heads", c.heads)
      .field("num_key_value_heads", c.kv_heads)
      .field("hidden_act", c.activation)
      .field("max_position_embeddings", c.context)
      .field("initializer_range", c.initializer_range)
      .field("rms_norm_eps", c.layer_norm_eps)
      .field("rope_theta", c.rotary_base)
      .field("tie_word_embeddings", c.tied_head)
      .optional_size("head_dim", c.head_dim)
      .field("attention_dropout", c.attention_dropout)
      .optional_id("pad_token_id", c.padding_id)
      .fixed("partial_rotary_factor", 1, "rotary positions must cover all features of a head")
      // pretraining_tp splits matrix products into slices, which only changes the order of
      // summation.
      .ignore({"pretraining_tp"});
  rotary_keys(config, c, false);
}

template <class Config>
void llama_keys(Config& config, GptConfig& c) {
  llama_family_keys(config, c);
  config.field("attention_bias", c.attention_bias).field("mlp_bias", c.mlp_bias);
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

template <class Config>
void mistral_keys(Config& config, GptConfig& c) {
  llama_family_keys(config, c);
  config.fixed("attention_bias", false, "Mistral has no biases")
      .fixed("mlp_bias", false, "Mistral has no biases");
  window_key(config, c);
}

/// Reads or writes the config keys of a decoder of this type.
template <class Config>
void gpt_keys(Config& config, const std::string& type, GptConfig& c) {
  if (type == "gpt2") return gpt2_keys(config, c);
  if (type == "openai-gpt") return gpt1_keys(config, c);
  if (type == "gpt_neox") return gpt_neox_keys(config, c);
  return type == "mistral" ? mistral_keys(config, c) : llama_keys(config, c);
}

GptConfig gpt_defaults(const std::string& type) {
  if (type == "gpt2") return gpt2_defaults();
  if (type == "openai-gpt") return gpt1_defaults();
  if (type == "gpt_neox") return gpt_neox_defaults();
  return type == "mistral" ? mistral_defaults() : llama_defaults();
}

void add_names(NameMap& map, const GptConfig& c, const Names& top, const std::string& blocks,
               const Names& parts) {
  for (const auto& [ours, theirs] : top) map.add(ours, theirs);
  for (std::int64_t i = 0; i < c.layers; ++i) {
    for (const auto& [ours, theirs] : parts)
      map.add(fmt::format("transformer.h.{}.{}", i, ours),
              fmt::format("{}.{}.{}", blocks, i, theirs));
  }
}

/// Returns the prefix of the base model's names in classes that have a head.
const std::string& base_of(const std::string& model_type) {
  static const std::map<std::string, std::string> table = {{"gpt2", "transformer."},
                                                           {"openai-gpt", "transformer."},
                                                           {"gpt_neox", "gpt_neox."},
                                                           {"llama", "model."},
                                                           {"mistral", "model."}};
  return table.at(model_type);
}

/// Ignores the `summary_*` and label keys in configs of GPT-1 and GPT-2, because their language
/// models do not use them.
void ignore_summary(ConfigReader& config) {
  config.labels();
  config.ignore({"summary_type", "summary_use_proj", "summary_activation", "summary_first_dropout",
                 "summary_proj_to_labels"});
}

}  // namespace

GptConfig gpt_config(const std::string& config_json) {
  ConfigReader config(config_json);
  const std::string type = config.model_type();
  if (!is_gpt(config_json)) {
    throw ArgumentError(
        fmt::format("config.json: model_type \"{}\" is not a decoder of the GPT family", type));
  }
  GptConfig c = gpt_defaults(type);
  gpt_keys(config, type, c);
  // An explicit null means that there are as many key-value heads as attention heads.
  const json& object = config.object();
  if (const auto kv_heads = object.find("num_key_value_heads");
      kv_heads != object.end() && kv_heads->is_null())
    c.kv_heads = 0;
  if (type == "gpt_neox") c.embedding_dropout = c.residual_dropout;
  ignore_summary(config);
  config.finish();
  c.check();
  return c;
}

void write_gpt(ConfigWriter& config, const std::string& type, const FamilyConfig& family,
               const HeadFacts&) {
  GptConfig c = std::get<GptConfig>(family);
  // Configs of these types must specify the inner width.
  if (type == "gpt_neox" || type == "llama" || type == "mistral") c.inner = c.inner_width();
  c.kv_heads = c.key_heads();
  gpt_keys(config, type, c);
}

bool is_gpt(const std::string& config_json) {
  const std::string type = ConfigReader(config_json).model_type();
  return type == "gpt2" || type == "openai-gpt" || type == "gpt_neox" || type == "llama" ||
         type == "mistral";
}

std::string gpt_class(const std::string& model_type, GptClass which) {
  const std::string& prefix = find_model_type(model_type)->prefix;
  switch (which) {
    case GptClass::base: return prefix + "Model";
    case GptClass::sequence_classification: return prefix + "ForSequenceClassification";
    case GptClass::language_model: break;
  }
  return prefix +
         (model_type == "gpt2" || model_type == "openai-gpt" ? "LMHeadModel" : "ForCausalLM");
}

GptModel build_gpt_model(Graph& graph, const std::string& config_json,
                         const std::string& architecture) {
  const GptConfig c = gpt_config(config_json);
  Model model;
  model.model_type = ConfigReader(config_json).model_type();
  const std::string& type = model.model_type;
  const std::string language_model = gpt_class(type, GptClass::language_model);
  model.architecture = architecture.empty() ? language_model : architecture;
  model.config = config_json;
  model.family = c;
  const std::string base =
      model.architecture == gpt_class(type, GptClass::base) ? "" : base_of(type);
  model.unused_buffers = {"attn.bias",      "attn.masked_bias",      "position_ids",
                          "attention.bias", "attention.masked_bias", "rotary_emb.inv_freq"};
  Gpt gpt(Scope(graph), c,
          model.architecture == language_model ? GptHead::language_model : GptHead::none);
  NameMap& names = model.names;
  if (type == "gpt2" || type == "openai-gpt") {
    const bool first = type == "openai-gpt";
    if (first) gpt.set_padded_causality({.score = -1e4});
    names.add("transformer.wte", base + (first ? "tokens_embed" : "wte"));
    names.add("transformer.wpe", base + (first ? "positions_embed" : "wpe"));
    names.add("transformer.h", base + "h");
    names.add("transformer.ln_f", base + "ln_f");
  } else if (type == "gpt_neox") {
    names.add("lm_head", "embed_out");
    add_names(
        names, c,
        {{"transformer.wte", base + "embed_in"}, {"transformer.ln_f", base + "final_layer_norm"}},
        base + "layers",
        {{"ln_1", "input_layernorm"},
         {"ln_2", "post_attention_layernorm"},
         {"attn.c_attn", "attention.query_key_value"},
         {"attn.c_proj", "attention.dense"},
         {"mlp.c_fc", "mlp.dense_h_to_4h"},
         {"mlp.c_proj", "mlp.dense_4h_to_h"}});
  } else {
    gpt.set_padded_causality(
        type == "mistral" ? PaddedCausality{.score = -std::numeric_limits<double>::infinity()}
                          : PaddedCausality{.added = true});
    add_names(names, c,
              {{"transformer.wte", base + "embed_tokens"}, {"transformer.ln_f", base + "norm"}},
              base + "layers",
              {{"ln_1", "input_layernorm"},
               {"ln_2", "post_attention_layernorm"},
               {"attn.query", "self_attn.q_proj"},
               {"attn.key", "self_attn.k_proj"},
               {"attn.value", "self_attn.v_proj"},
               {"attn.c_proj", "self_attn.o_proj"},
               {"mlp.gate", "mlp.gate_proj"},
               {"mlp.c_fc", "mlp.up_proj"},
               {"mlp.c_proj", "mlp.down_proj"}});
  }
  return {std::move(gpt), std::move(model)};
}

}  // namespace weft::hf
