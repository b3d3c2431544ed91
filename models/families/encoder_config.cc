#include "weft/models/families/encoder_config.h"

#include <fmt/format.h>

#include <array>

#include "weft/core/error.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/json_fields.h"

namespace weft {
namespace {

using json_fields::json;

constexpr std::array<std::string_view, 4> kPositions = {"absolute", "relative_key",
                                                        "relative_key_query", "disentangled"};
constexpr std::array<std::string_view, 3> kProjections = {"none", "after_norm", "before_norm"};

/// Every field: the one list that writing and reading share.
const auto kFields = [](auto& c, auto&& visit) {
  visit("vocab", c.vocab);
  visit("context", c.context);
  visit("token_types", c.token_types);
  visit("padding_id", c.padding_id);
  visit("layers", c.layers);
  visit("heads", c.heads);
  visit("head_size", c.head_size);
  visit("width", c.width);
  visit("inner", c.inner);
  visit("embedding_width", c.embedding_width);
  visit("embedding_projection", c.embedding_projection);
  visit("activation", c.activation);
  visit("layer_norm_eps", c.layer_norm_eps);
  visit("positions", c.positions);
  visit("positions_skip_padding", c.positions_skip_padding);
  visit("trainable_positions", c.trainable_positions);
  visit("layer_groups", c.layer_groups);
  visit("group_layers", c.group_layers);
  visit("content_to_position", c.content_to_position);
  visit("position_to_content", c.position_to_content);
  visit("relative_attention", c.relative_attention);
  visit("absolute_positions", c.absolute_positions);
  visit("fused_attention", c.fused_attention);
  visit("shared_projections", c.shared_projections);
  visit("max_relative", c.max_relative);
  visit("position_buckets", c.position_buckets);
  visit("relative_norm", c.relative_norm);
  visit("conv_kernel", c.conv_kernel);
  visit("conv_groups", c.conv_groups);
  visit("conv_activation", c.conv_activation);
  visit("hidden_dropout", c.hidden_dropout);
  visit("attention_dropout", c.attention_dropout);
  visit("initializer_range", c.initializer_range);
};

}  // namespace

std::string_view encoder_positions_name(EncoderPositions positions) {
  return kPositions[static_cast<std::size_t>(positions)];
}
EncoderPositions parse_encoder_positions(std::string_view name) {
  return json_fields::parse_choice<EncoderPositions>(kPositions, name, "positions");
}
std::string_view embedding_projection_name(EmbeddingProjection projection) {
  return kProjections[static_cast<std::size_t>(projection)];
}
EmbeddingProjection parse_embedding_projection(std::string_view name) {
  return json_fields::parse_choice<EmbeddingProjection>(kProjections, name, "embedding_projection");
}

void EncoderConfig::check() const {
  const auto at_least = [](std::string_view name, std::int64_t value, std::int64_t low) {
    if (value < low)
      throw ArgumentError(fmt::format("{} must be at least {}, not {}", name, low, value));
  };
  at_least("vocab", vocab, 1);
  at_least("context", context, 1);
  at_least("token_types", token_types, 0);
  at_least("padding_id", padding_id, -1);
  at_least("layers", layers, 1);
  at_least("heads", heads, 1);
  at_least("head_size", head_size, 0);
  at_least("width", width, 1);
  at_least("inner", inner, 1);
  at_least("embedding_width", embedding_width, 0);
  at_least("layer_groups", layer_groups, 0);
  at_least("group_layers", group_layers, 1);
  at_least("conv_kernel", conv_kernel, 0);
  at_least("conv_groups", conv_groups, 1);
  at_least("position_buckets", position_buckets, 0);
  size_limits::check({{"vocab", vocab, size_limits::kVocab},
                      {"context", context, size_limits::kPositions},
                      {"token_types", token_types, size_limits::kVocab},
                      {"layers", layers, size_limits::kLayers},
                      {"heads", heads, size_limits::kHeads},
                      {"head_size", head_size, size_limits::kWidth},
                      {"width", width, size_limits::kWidth},
                      {"inner", inner, size_limits::kInner},
                      {"embedding_width", embedding_width, size_limits::kWidth},
                      {"group_layers", group_layers, size_limits::kLayers},
                      {"conv_kernel", conv_kernel, size_limits::kPositions},
                      {"conv_groups", conv_groups, size_limits::kWidth},
                      {"max_relative", max_relative, size_limits::kPositions},
                      {"position_buckets", position_buckets, size_limits::kPositions}});
  if (head_size == 0 && width % heads != 0) {
    throw ArgumentError(fmt::format(
        "width {} is not a multiple of heads {}: every head needs the same size", width, heads));
  }
  if (padding_id >= vocab)
    throw ArgumentError(
        fmt::format("padding_id {} is outside the vocabulary of {}", padding_id, vocab));
  if (positions_skip_padding && padding_id < 0)
    throw ArgumentError("positions_skip_padding needs a padding_id");
  if (embedding_projection == EmbeddingProjection::none && embeddings() != width) {
    throw ArgumentError(fmt::format(
        "embedding_width {} differs from width {}: embedding_projection must be after_norm or "
        "before_norm",
        embeddings(), width));
  }
  if (layer_groups > layers)
    throw ArgumentError(
        fmt::format("layer_groups {} are more than the {} layers", layer_groups, layers));
  if (layer_groups == 0 && group_layers != 1)
    throw ArgumentError(fmt::format("group_layers is {}, but layer_groups is 0", group_layers));
  if (positions == EncoderPositions::disentangled && relative_attention) {
    at_least("max_relative", max_relative, 1);
    // The logarithm of the buckets runs from half the buckets to max_relative.
    if (position_buckets > 0 && (position_buckets < 2 || max_relative - 1 <= position_buckets / 2))
      throw ArgumentError(
          fmt::format("position_buckets {} must be at least 2 and max_relative {} more than half "
                      "of them plus 1",
                      position_buckets, max_relative));
  }
  if (conv_kernel > 0 && conv_kernel % 2 == 0)
    throw ArgumentError(fmt::format(
        "conv_kernel must be odd, so that a sequence keeps its length, not {}", conv_kernel));
  const auto rate = [](std::string_view name, double value) {
    if (!(value >= 0 && value < 1))
      throw ArgumentError(fmt::format("{} must be in [0, 1), not {}", name, value));
  };
  rate("hidden_dropout", hidden_dropout);
  rate("attention_dropout", attention_dropout);
  if (!(layer_norm_eps > 0))
    throw ArgumentError(fmt::format("layer_norm_eps must be positive, not {}", layer_norm_eps));
  if (!(initializer_range >= 0))
    throw ArgumentError(
        fmt::format("initializer_range must not be negative, not {}", initializer_range));
}

std::string EncoderConfig::to_json() const {
  auto out = json_fields::write_object(*this, kFields);
  out["family"] = "encoder";
  return out.dump();
}

EncoderConfig EncoderConfig::from_json(std::string_view text) {
  const json parsed = json_fields::parse_object(text, "the model config");
  if (const json family = parsed.value("family", json()); family != "encoder")
    throw FormatError(
        fmt::format("the model config is of family {}, not \"encoder\"", json_excerpt(family)));
  EncoderConfig config;
  json_fields::read_object(parsed, config, kFields, "the model config", "family");
  config.check();
  return config;
}

}  // namespace weft
