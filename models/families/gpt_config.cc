#include "weft/models/families/gpt_config.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/json_fields.h"

namespace weft {
namespace {

using json_fields::json;

/// Every field: the one list that writing and reading share.
const auto kFields = [](auto& c, auto&& visit) {
  visit("vocab", c.vocab);
  visit("layers", c.layers);
  visit("heads", c.heads);
  visit("width", c.width);
  visit("context", c.context);
  visit("inner", c.inner);
  visit("activation", c.activation);
  visit("bias", c.bias);
  visit("tied_head", c.tied_head);
  visit("layer_norm_eps", c.layer_norm_eps);
  visit("scale_attention", c.scale_attention);
  visit("scale_attention_by_inverse_layer", c.scale_attention_by_inverse_layer);
  visit("embedding_dropout", c.embedding_dropout);
  visit("attention_dropout", c.attention_dropout);
  visit("residual_dropout", c.residual_dropout);
  visit("initializer_range", c.initializer_range);
};

}  // namespace

std::int64_t GptConfig::parameter_count() const {
  const std::int64_t norm = bias ? 2 * width : width;
  const auto matrix = [&](std::int64_t in, std::int64_t out) {
    return in * out + (bias ? out : 0);
  };
  const std::int64_t block = 2 * norm + matrix(width, 3 * width) + matrix(width, width) +
                             matrix(width, inner_width()) + matrix(inner_width(), width);
  return (vocab + context) * width + layers * block + norm + (tied_head ? 0 : vocab * width);
}

void GptConfig::check() const {
  const auto positive = [](std::string_view name, std::int64_t value) {
    if (value < 1) throw ArgumentError(fmt::format("{} must be at least 1, not {}", name, value));
  };
  positive("vocab", vocab);
  positive("layers", layers);
  positive("heads", heads);
  positive("width", width);
  positive("context", context);
  if (inner < 0)
    throw ArgumentError(fmt::format("inner must be 0 (4 * width) or more, not {}", inner));
  if (width % heads != 0) {
    throw ArgumentError(fmt::format(
        "width {} is not a multiple of heads {}: every head needs the same size", width, heads));
  }
  const auto rate = [](std::string_view name, double value) {
    if (!(value >= 0 && value < 1))
      throw ArgumentError(fmt::format("{} must be in [0, 1), not {}", name, value));
  };
  rate("embedding_dropout", embedding_dropout);
  rate("attention_dropout", attention_dropout);
  rate("residual_dropout", residual_dropout);
  if (!(layer_norm_eps > 0))
    throw ArgumentError(fmt::format("layer_norm_eps must be positive, not {}", layer_norm_eps));
  if (!(initializer_range >= 0))
    throw ArgumentError(
        fmt::format("initializer_range must not be negative, not {}", initializer_range));
}

std::string GptConfig::to_json() const {
  auto out = json_fields::write_object(*this, kFields);
  out["family"] = "gpt";
  return out.dump();
}

GptConfig GptConfig::from_json(std::string_view text) {
  const json parsed = json_fields::parse_object(text, "the model config");
  if (const json family = parsed.value("family", json()); family != "gpt")
    throw FormatError(fmt::format("the model config is of family {}, not \"gpt\"", family.dump()));
  GptConfig config;
  json_fields::read_object(parsed, config, kFields, "the model config", "family");
  config.check();
  return config;
}

GptConfig GptConfig::from_hugging_face(std::string_view text) {
  const json parsed = json_fields::parse_object(text, "config.json");
  if (const json type = parsed.value("model_type", json("gpt2")); type != "gpt2")
    throw ArgumentError(fmt::format("config.json: model_type is {}, not \"gpt2\"", type.dump()));
  GptConfig config;
  config.embedding_dropout = config.attention_dropout = config.residual_dropout = 0.1;
  const auto optional = [&](const char* key, auto& field) {
    if (const auto it = parsed.find(key); it != parsed.end() && !it->is_null())
      json_fields::read(*it, key, field);
  };
  optional("vocab_size", config.vocab);
  optional("n_positions", config.context);
  if (!parsed.contains("n_positions")) optional("n_ctx", config.context);
  optional("n_embd", config.width);
  optional("n_layer", config.layers);
  optional("n_head", config.heads);
  optional("n_inner", config.inner);
  optional("activation_function", config.activation);
  optional("layer_norm_epsilon", config.layer_norm_eps);
  optional("initializer_range", config.initializer_range);
  optional("embd_pdrop", config.embedding_dropout);
  optional("attn_pdrop", config.attention_dropout);
  optional("resid_pdrop", config.residual_dropout);
  optional("scale_attn_weights", config.scale_attention);
  optional("scale_attn_by_inverse_layer_idx", config.scale_attention_by_inverse_layer);
  optional("tie_word_embeddings", config.tied_head);
  // reorder_and_upcast_attn changes nothing in float32 but the place of a multiplication.
  bool cross_attention = false, encoder_decoder = false;
  optional("add_cross_attention", cross_attention);
  optional("is_encoder_decoder", encoder_decoder);
  if (cross_attention)
    throw ArgumentError(
        "config.json: add_cross_attention is true: this GPT has no cross attention");
  if (encoder_decoder)
    throw ArgumentError("config.json: is_encoder_decoder is true: this GPT is a decoder only");
  if (const auto it = parsed.find("pruned_heads"); it != parsed.end() && !it->empty())
    throw ArgumentError("config.json: pruned_heads is not empty: pruned models are not supported");
  config.check();
  return config;
}

}  // namespace weft
