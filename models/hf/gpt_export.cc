// The config.json of a decoder that was built here.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "weft/core/error.h"
#include "weft/models/hf/gpt.h"

namespace weft::hf {
namespace {

using nlohmann::ordered_json;

std::string_view library_name(Activation activation) {
  if (activation == Activation::gelu_tanh) return "gelu_new";
  if (activation == Activation::gelu_erf) return "gelu";
  return choice_name(activation);
}

ordered_json header(const char* type, const char* architecture, const GptConfig& c) {
  return {{"architectures", {architecture}},
          {"model_type", type},
          {"vocab_size", c.vocab},
          {"initializer_range", c.initializer_range},
          {"tie_word_embeddings", c.tied_head},
          {"torch_dtype", "float32"}};
}

void put_sizes(ordered_json& out, const GptConfig& c) {
  out["hidden_size"] = c.width;
  out["num_hidden_layers"] = c.layers;
  out["num_attention_heads"] = c.heads;
  out["intermediate_size"] = c.inner_width();
  out["hidden_act"] = library_name(c.activation);
  out["max_position_embeddings"] = c.context;
  out["attention_dropout"] = c.attention_dropout;
}

void put_scaling(ordered_json& out, const GptConfig& c) {
  if (c.rotary_scaling == RotaryScalingKind::none) return;
  ordered_json scaling = {{"type", choice_name(c.rotary_scaling)},
                          {"rope_type", choice_name(c.rotary_scaling)},
                          {"factor", c.rotary_factor}};
  if (c.rotary_scaling == RotaryScalingKind::llama3) {
    scaling["low_freq_factor"] = c.rotary_low_factor;
    scaling["high_freq_factor"] = c.rotary_high_factor;
    scaling["original_max_position_embeddings"] = c.rotary_context;
  }
  out["rope_scaling"] = scaling;
}

ordered_json gpt_json(const GptConfig& c) {
  const bool first = c.residual == GptResidual::post_norm;
  ordered_json out =
      header(first ? "openai-gpt" : "gpt2", first ? "OpenAIGPTLMHeadModel" : "GPT2LMHeadModel", c);
  out["n_positions"] = c.context;
  out["n_embd"] = c.width;
  out["n_layer"] = c.layers;
  out["n_head"] = c.heads;
  out["layer_norm_epsilon"] = c.layer_norm_eps;
  out["embd_pdrop"] = c.embedding_dropout;
  out["attn_pdrop"] = c.attention_dropout;
  out["resid_pdrop"] = c.residual_dropout;
  if (first) {
    out["afn"] = c.activation == Activation::gelu_tanh ? "gelu" : choice_name(c.activation);
  } else {
    out["n_inner"] = c.inner_width();
    out["activation_function"] = library_name(c.activation);
    out["scale_attn_weights"] = c.scale_attention;
    out["scale_attn_by_inverse_layer_idx"] = c.scale_attention_by_inverse_layer;
  }
  return out;
}

ordered_json gpt_neox_json(const GptConfig& c) {
  ordered_json out = header("gpt_neox", "GPTNeoXForCausalLM", c);
  put_sizes(out, c);
  out["rotary_pct"] = c.rotary_share;
  out["rotary_emb_base"] = c.rotary_base;
  put_scaling(out, c);
  out["layer_norm_eps"] = c.layer_norm_eps;
  out["use_parallel_residual"] = c.residual == GptResidual::parallel;
  out["hidden_dropout"] = c.residual_dropout;
  return out;
}

ordered_json llama_json(const GptConfig& c) {
  const bool mistral = c.window > 0;
  ordered_json out =
      header(mistral ? "mistral" : "llama", mistral ? "MistralForCausalLM" : "LlamaForCausalLM", c);
  put_sizes(out, c);
  out["num_key_value_heads"] = c.key_heads();
  out["rms_norm_eps"] = c.layer_norm_eps;
  out["rope_theta"] = c.rotary_base;
  put_scaling(out, c);
  if (c.head_dim != 0) out["head_dim"] = c.head_dim;
  if (c.padding_id >= 0) out["pad_token_id"] = c.padding_id;
  if (mistral) {
    out["sliding_window"] = c.window - 1;
  } else {
    out["attention_bias"] = c.attention_bias;
    out["mlp_bias"] = c.mlp_bias;
  }
  return out;
}

/// What is only another way of saying the same.
GptConfig explicit_sizes(GptConfig c) {
  c.inner = c.inner_width();
  c.kv_heads = c.key_heads();
  c.head_dim = c.head_size();
  return c;
}

}  // namespace

std::string gpt_config_json(const GptConfig& config) {
  config.check();
  const ordered_json out = config.norm == GptNorm::rms_norm           ? llama_json(config)
                           : config.positions == GptPositions::rotary ? gpt_neox_json(config)
                                                                      : gpt_json(config);
  // What the library's config cannot say comes back otherwise: the first such field is the reason.
  std::string text = out.dump(2);
  const auto wanted = ordered_json::parse(explicit_sizes(config).to_json());
  const auto got = ordered_json::parse(explicit_sizes(gpt_config(text)).to_json());
  for (const auto& [field, value] : wanted.items()) {
    if (got.at(field) != value) {
      throw ArgumentError(fmt::format(
          "no model of Hugging Face's has {} = {} with the rest of this config: the nearest, {}, "
          "has {}",
          field, value.dump(), out.at("model_type").dump(), got.at(field).dump()));
    }
  }
  return text;
}

}  // namespace weft::hf
