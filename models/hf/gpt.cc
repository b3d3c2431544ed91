// The GPT family: GPT-1, GPT-2, GPT-NeoX, LLaMA, Mistral.
#include "weft/models/hf/gpt.h"

#include <fmt/format.h>

#include <limits>

#include "weft/core/error.h"
#include "weft/models/families/gpt.h"
#include "weft/models/hf/request.h"

namespace weft::hf {
namespace {

/// Parts of a block: Weft's names and the library's, below the block.
using Names = std::vector<std::pair<std::string, std::string>>;

void refuse_shape(ConfigReader& config, const char* key, std::int64_t expected) {
  std::int64_t given = expected;
  config.field(key, given);
  if (given != expected) {
    throw ArgumentError(
        fmt::format("config.json: {} is {}: only {} is supported", key, given, expected));
  }
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
    c.activation = parse_activation(activation);
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
      .fixed("rope_scaling", nullptr, "scaled rotary positions are not supported")
      .ignore({"pad_token_id", "classifier_dropout"});
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
      .field("attention_bias", c.attention_bias)
      .field("attention_dropout", c.attention_dropout)
      .optional_id("pad_token_id", c.padding_id)
      .fixed("rope_scaling", nullptr, "scaled rotary positions are not supported")
      .fixed("mlp_bias", false, "biases in the feed-forward block are not supported")
      // Slices of products, which are summed in another order.
      .ignore({"pretraining_tp"});
  if (config.find("head_dim") != nullptr) refuse_shape(config, "head_dim", c.head_size());
  if (mistral) {
    std::int64_t window = 4096;
    config.optional_id("sliding_window", window);
    // The library lets a query see the window and itself.
    c.window = window < 0 ? 0 : window + 1;
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

GptModel build_gpt_model(Graph& graph, const std::string& config_json) {
  const GptConfig c = gpt_config(config_json);
  GptModel result{Gpt(Scope(graph), c), {}};
  Model& model = result.model;
  model.model_type = ConfigReader(config_json).model_type();
  model.config = config_json;
  model.unused_buffers = {"attn.bias",      "attn.masked_bias",      "transformer.position_ids",
                          "attention.bias", "attention.masked_bias", "rotary_emb.inv_freq"};
  if (model.model_type == "gpt2") {
    model.architecture = "GPT2LMHeadModel";
  } else if (model.model_type == "openai-gpt") {
    model.architecture = "OpenAIGPTLMHeadModel";
    result.gpt.set_padded_causality({.score = -1e4});
    model.names.add("transformer.wte", "transformer.tokens_embed");
    model.names.add("transformer.wpe", "transformer.positions_embed");
  } else if (model.model_type == "gpt_neox") {
    model.architecture = "GPTNeoXForCausalLM";
    add_names(model.names, c,
              {{"transformer.wte", "gpt_neox.embed_in"},
               {"transformer.ln_f", "gpt_neox.final_layer_norm"},
               {"lm_head", "embed_out"}},
              "gpt_neox.layers",
              {{"ln_1", "input_layernorm"},
               {"ln_2", "post_attention_layernorm"},
               {"attn.c_attn", "attention.query_key_value"},
               {"attn.c_proj", "attention.dense"},
               {"mlp.c_fc", "mlp.dense_h_to_4h"},
               {"mlp.c_proj", "mlp.dense_4h_to_h"}});
  } else {
    const bool mistral = model.model_type == "mistral";
    model.architecture = mistral ? "MistralForCausalLM" : "LlamaForCausalLM";
    result.gpt.set_padded_causality(
        mistral ? PaddedCausality{.score = -std::numeric_limits<double>::infinity()}
                : PaddedCausality{.added = true});
    add_names(model.names, c,
              {{"transformer.wte", "model.embed_tokens"}, {"transformer.ln_f", "model.norm"}},
              "model.layers",
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
  return result;
}

Model build_gpt(Request& request) {
  auto [gpt, model] = build_gpt_model(request.graph, request.config.object().dump());
  // That reads the whole config, and refuses what it does not know.
  for (const auto& [key, value] : request.config.object().items()) request.config.find(key.c_str());
  if (request.architecture != model.architecture) request.unsupported_architecture();
  const std::string& type = model.model_type;
  GptInputs inputs{.ids = request.required("input_ids", {"batch", "seq"})};
  inputs.attention_mask = request.input("attention_mask", {"batch", "seq"});
  if (type != "gpt_neox") inputs.position_ids = request.input("position_ids", {"batch", "seq"});
  if (type == "gpt2" || type == "openai-gpt")
    inputs.token_type_ids = request.input("token_type_ids", {"batch", "seq"});
  const GptOutputs out = gpt(inputs);
  model.outputs = {{"logits", out.logits}, {"last_hidden_state", out.last_hidden_state}};
  put_hidden(model, "hidden.", out.hidden);
  if (const Value labels = request.input("labels", {"batch", "seq"}); labels.defined())
    model.outputs["loss"] = next_token_loss(out.logits, labels);
  model.valid_rows = inputs.attention_mask;
  return std::move(model);
}

}  // namespace weft::hf
