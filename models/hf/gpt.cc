// The GPT family: GPT-1, GPT-2, GPT-NeoX, LLaMA, Mistral.
#include "weft/models/hf/gpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "weft/core/error.h"
#include "weft/models/families/gpt.h"
#include "weft/models/hf/config_reader.h"

namespace weft::hf {
namespace {

/// Parts of a block: Weft's names and the library's, below the block.
using Names = std::vector<std::pair<std::string, std::string>>;

/// What a file says of rotary positions: rope_scaling, or rope_parameters in newer files, which
/// also hold the base. Reads the context first.
void read_rotary(ConfigReader& config, GptConfig& c, bool partial) {
  const char* key = "rope_parameters";
  const json* found = config.find(key);
  if (const json* scaling = config.find("rope_scaling")) {
    if (found != nullptr && *found != *scaling)
      throw ArgumentError("config.json: rope_scaling and rope_parameters differ: state one");
    key = "rope_scaling";
    found = scaling;
  }
  if (found == nullptr) return;
  ConfigReader rotary(found->dump(), fmt::format("config.json: {}", key));
  // The older name, where the newer one is absent.
  std::string type = "default";
  rotary.field("type", type).field("rope_type", type).field("rope_theta", c.rotary_base);
  if (partial) rotary.field("partial_rotary_factor", c.rotary_share);
  const auto number = [&](const char* name, auto& value) {
    if (rotary.find(name) == nullptr)
      throw ArgumentError(fmt::format("config.json: {} of type \"{}\" needs {}", key, type, name));
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
        "config.json: {} has the type \"{}\": default, linear, dynamic and llama3 are supported",
        key, type));
  }
  rotary.finish("rotary positions");
}

GptConfig read_gpt2(ConfigReader& config) {
  GptConfig c;
  c.embedding_dropout = c.attention_dropout = c.residual_dropout = 0.1;
  // The older name of the number of positions, where the newer one is absent.
  config.field("n_ctx", c.context).field("n_positions", c.context);
  config.field("vocab_size", c.vocab)
      .field("n_embd", c.width)
      .field("n_layer", c.layers)
      .field("n_head", c.heads)
      .field("n_inner", c.inner)
      .field("activation_function", c.activation)
      .field("layer_norm_epsilon", c.layer_norm_eps)
      .field("initializer_range", c.initializer_range)
      .field("embd_pdrop", c.embedding_dropout)
      .field("attn_pdrop", c.attention_dropout)
      .field("resid_pdrop", c.residual_dropout)
      .field("scale_attn_weights", c.scale_attention)
      .field("scale_attn_by_inverse_layer_idx", c.scale_attention_by_inverse_layer)
      .field("tie_word_embeddings", c.tied_head)
      // The upcast changes nothing in float32 but the place of a multiplication.
      .ignore({"reorder_and_upcast_attn", "pad_token_id"});
  return c;
}

GptConfig read_gpt1(ConfigReader& config) {
  GptConfig c;
  c.vocab = 40478;
  c.context = 512;
  c.residual = GptResidual::post_norm;
  c.embedding_dropout = c.attention_dropout = c.residual_dropout = 0.1;
  // Its "gelu" is the tanh form, whatever other models of the library call so.
  std::string activation = "gelu";
  config.field("afn", activation);
  if (activation == "gelu") {
    c.activation = Activation::gelu_tanh;
  } else if (activation == "relu" || activation == "silu" || activation == "swish") {
    c.activation = parse_choice<Activation>(activation);
  } else {
    throw ArgumentError(fmt::format(
        "config.json: afn is \"{}\": this model has gelu, relu, silu and swish", activation));
  }
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
      .ignore({"n_ctx", "n_special", "predict_special_tokens", "pad_token_id"});
  return c;
}

GptConfig read_gpt_neox(ConfigReader& config) {
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
  c.projection = QkvProjection::fused_by_head;
  c.transposed = false;
  bool parallel = true;
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
      .field("use_parallel_residual", parallel)
      .field("attention_dropout", c.attention_dropout)
      .field("hidden_dropout", c.residual_dropout)
      .fixed("attention_bias", true, "attention without biases is not supported")
      // What newer files call rotary_emb_base and rotary_pct, and repeat.
      .field("rope_theta", c.rotary_base)
      .field("partial_rotary_factor", c.rotary_share)
      .ignore({"pad_token_id", "classifier_dropout"});
  read_rotary(config, c, true);
  c.embedding_dropout = c.residual_dropout;
  c.residual = parallel ? GptResidual::parallel : GptResidual::pre_norm;
  return c;
}

GptConfig read_llama(ConfigReader& config) {
  const bool mistral = config.model_type() == "mistral";
  GptConfig c = GptConfig::llama();
  c.width = 4096;
  c.layers = c.heads = 32;
  c.inner = mistral ? 14336 : 11008;
  c.context = mistral ? 4096 * 32 : 2048;
  c.layer_norm_eps = 1e-6;
  if (mistral) c.kv_heads = 8;
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
      .field("head_dim", c.head_dim)
      .field("attention_dropout", c.attention_dropout)
      .optional_id("pad_token_id", c.padding_id)
      .fixed("partial_rotary_factor", 1, "all features of a head turn")
      // Slices of products, which are summed in another order.
      .ignore({"pretraining_tp"});
  // Stated to be null, it is the number of heads.
  if (config.find("num_key_value_heads") == nullptr &&
      config.object().contains("num_key_value_heads")) {
    c.kv_heads = 0;
  }
  read_rotary(config, c, false);
  if (mistral) {
    config.fixed("attention_bias", false, "Mistral has no biases")
        .fixed("mlp_bias", false, "Mistral has no biases");
    std::int64_t window = 4096;
    config.optional_id("sliding_window", window);
    // The library lets a query see the window and itself.
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max() - 1;
    c.window = window < 0 ? 0 : std::min(window, kMax) + 1;
  } else {
    config.field("attention_bias", c.attention_bias).field("mlp_bias", c.mlp_bias);
  }
  return c;
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

/// What the library's classes of a family begin with, and what it calls the base model in them.
struct Library {
  std::string prefix, base;
};
const Library& library_of(const std::string& model_type) {
  static const std::map<std::string, Library> table = {
      {"gpt2", {"GPT2", "transformer."}},
      {"openai-gpt", {"OpenAIGPT", "transformer."}},
      {"gpt_neox", {"GPTNeoX", "gpt_neox."}},
      {"llama", {"Llama", "model."}},
      {"mistral", {"Mistral", "model."}}};
  return table.at(model_type);
}

/// GPT-1 and GPT-2 may carry a summary, which their language models have no use for.
void ignore_summary(ConfigReader& config) {
  config.labels();
  config.ignore({"summary_type", "summary_use_proj", "summary_activation", "summary_first_dropout",
                 "summary_proj_to_labels"});
}

}  // namespace

GptConfig gpt_config(const std::string& config_json) {
  ConfigReader config(config_json);
  const std::string type = config.model_type();
  GptConfig c;
  if (type == "gpt2") {
    c = read_gpt2(config);
  } else if (type == "openai-gpt") {
    c = read_gpt1(config);
  } else if (type == "gpt_neox") {
    c = read_gpt_neox(config);
  } else if (type == "llama" || type == "mistral") {
    c = read_llama(config);
  } else {
    throw ArgumentError(
        fmt::format("config.json: model_type \"{}\" is no decoder of the GPT family", type));
  }
  ignore_summary(config);
  config.finish();
  c.check();
  return c;
}

bool is_gpt(const std::string& config_json) {
  const std::string type = ConfigReader(config_json).model_type();
  return type == "gpt2" || type == "openai-gpt" || type == "gpt_neox" || type == "llama" ||
         type == "mistral";
}

std::string gpt_class(const std::string& model_type, GptClass which) {
  const std::string& prefix = library_of(model_type).prefix;
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
      model.architecture == gpt_class(type, GptClass::base) ? "" : library_of(type).base;
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
