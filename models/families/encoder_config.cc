#include "weft/models/families/encoder_config.h"

#include <fmt/format.h>

#include <array>

#include "weft/core/error.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 5> kEncoderPositions = {
    "absolute", "relative_key", "relative_key_query", "disentangled", "none"};
constexpr std::array<std::string_view, 3> kProjections = {"none", "after_norm", "before_norm"};

}  // namespace

ChoiceNames choice_names(EncoderPositions) { return {"positions", kEncoderPositions}; }
ChoiceNames choice_names(EmbeddingProjection) { return {"embedding_projection", kProjections}; }

void EncoderConfig::check() const {
  check::at_least("vocab", vocab, 1);
  check::at_least("context", context, 1);
  check::at_least("token_types", token_types, 0);
  check::at_least("padding_id", padding_id, -1);
  // If the model begins with a convolution, it needs no layers.
  check::at_least("layers", layers, norm_first && conv_kernel > 0 ? 0 : 1);
  check::at_least("heads", heads, 1);
  check::at_least("head_size", head_size, 0);
  check::at_least("width", width, 1);
  check::at_least("inner", inner, 1);
  check::at_least("embedding_width", embedding_width, 0);
  check::at_least("layer_groups", layer_groups, 0);
  check::at_least("group_layers", group_layers, 1);
  check::at_least("conv_kernel", conv_kernel, 0);
  check::at_least("conv_groups", conv_groups, 1);
  check::at_least("conv_least_kernel", conv_least_kernel, 0);
  check::at_least("position_buckets", position_buckets, 0);
  check::at_most({{"vocab", vocab, size_limits::kVocab},
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
        "width {} is not a multiple of heads {}: all heads must have the same size", width, heads));
  }
  if (padding_id >= vocab)
    throw ArgumentError(
        fmt::format("padding_id {} is outside the vocabulary of {} ids", padding_id, vocab));
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
        fmt::format("layer_groups {} exceeds the number of layers, {}", layer_groups, layers));
  if (layer_groups == 0 && group_layers != 1)
    throw ArgumentError(fmt::format("group_layers is {}, but layer_groups is 0", group_layers));
  if (positions == EncoderPositions::disentangled && relative_attention) {
    check::at_least("max_relative", max_relative, 1);
    // Logarithmic buckets span distances from half the buckets to max_relative.
    if (position_buckets > 0 && (position_buckets < 2 || max_relative - 1 <= position_buckets / 2))
      throw ArgumentError(
          fmt::format("position_buckets {} must be at least 2, and max_relative {} must be more "
                      "than position_buckets / 2 + 1",
                      position_buckets, max_relative));
  }
  if (conv_kernel > 0 && conv_kernel % 2 == 0)
    throw ArgumentError(fmt::format(
        "conv_kernel must be odd to preserve the sequence length, but is {}", conv_kernel));
  if (conv_kernel > 0 && conv_least_kernel > 0 &&
      (conv_least_kernel % 2 == 0 || conv_least_kernel > conv_kernel)) {
    throw ArgumentError(
        fmt::format("conv_least_kernel must be 0, or odd and at most conv_kernel ({}), but is {}",
                    conv_kernel, conv_least_kernel));
  }
  check::rate("hidden_dropout", hidden_dropout);
  check::rate("attention_dropout", attention_dropout);
  check::positive("layer_norm_eps", layer_norm_eps);
  check::not_negative("initializer_range", initializer_range);
}

const FieldList<EncoderConfig>& EncoderConfig::fields() {
  static const auto list =
      FieldList<EncoderConfig>("the model config", "encoder")
          .add("vocab", &EncoderConfig::vocab, "vocabulary size")
          .add("context", &EncoderConfig::context,
               "number of positions: maximum text length in tokens")
          .add("token_types", &EncoderConfig::token_types,
               "number of token types (segments); 0 = no token type embeddings")
          .add("padding_id", &EncoderConfig::padding_id,
               "padding id; its embedding is not trained; -1 = none")
          .add("layers", &EncoderConfig::layers,
               "number of layers; may be 0 with norm-first and a convolution")
          .add("heads", &EncoderConfig::heads,
               "attention heads; must divide width if head-size is 0")
          .add("head_size", &EncoderConfig::head_size, "features per head; 0 = width / heads")
          .add("width", &EncoderConfig::width, "width of the hidden states")
          .add("inner", &EncoderConfig::inner, "width of the feed-forward block")
          .add("embedding_width", &EncoderConfig::embedding_width,
               "width of the embeddings; 0 = width")
          .add("embedding_projection", &EncoderConfig::embedding_projection,
               "where embeddings are projected to the width of the layers")
          .add("activation", &EncoderConfig::activation, "activation of the feed-forward block")
          .add("layer_norm_eps", &EncoderConfig::layer_norm_eps, "epsilon of the norms")
          .added("norm_first", &EncoderConfig::norm_first,
                 "normalise before attention and feed-forward, but not after the embeddings")
          .add("positions", &EncoderConfig::positions,
               "position encoding; disentangled is used by DeBERTa")
          .add("positions_skip_padding", &EncoderConfig::positions_skip_padding,
               "number only tokens that are not padding, from padding-id + 1 (RoBERTa)")
          .add("trainable_positions", &EncoderConfig::trainable_positions,
               "train learned positions; otherwise they keep their initial or loaded values")
          .add("layer_groups", &EncoderConfig::layer_groups,
               "groups of layers that share weights (ALBERT); 0 = no sharing")
          .add("group_layers", &EncoderConfig::group_layers, "layers per group")
          .add("content_to_position", &EncoderConfig::content_to_position,
               "disentangled: content attends to positions")
          .add("position_to_content", &EncoderConfig::position_to_content,
               "disentangled: positions attend to content")
          .add("relative_attention", &EncoderConfig::relative_attention,
               "disentangled: use relative positions in attention")
          .add("absolute_positions", &EncoderConfig::absolute_positions,
               "disentangled: also add learned positions to the embeddings")
          .add("fused_attention", &EncoderConfig::fused_attention,
               "disentangled: one matrix for queries, keys and values")
          .add("shared_projections", &EncoderConfig::shared_projections,
               "disentangled: project positions with the matrices for content")
          .add("max_relative", &EncoderConfig::max_relative,
               "disentangled: largest distance; larger distances are clamped to it")
          .add("position_buckets", &EncoderConfig::position_buckets,
               "disentangled: number of distance buckets; 0 = none")
          .add("relative_norm", &EncoderConfig::relative_norm,
               "disentangled: normalise the relative position embeddings")
          .add("conv_kernel", &EncoderConfig::conv_kernel,
               "kernel width of the convolution parallel to the first layer (before it with "
               "norm-first); 0 = none")
          .add("conv_groups", &EncoderConfig::conv_groups, "groups of the convolution")
          .added("conv_least_kernel", &EncoderConfig::conv_least_kernel,
                 "the kernel widths of the groups cycle from this width to conv-kernel in steps of "
                 "2; 0 = all "
                 "are conv-kernel wide")
          .add("conv_activation", &EncoderConfig::conv_activation, "activation of the convolution")
          .add("hidden_dropout", &EncoderConfig::hidden_dropout,
               "dropout on the embeddings and on the outputs of blocks")
          .add("attention_dropout", &EncoderConfig::attention_dropout,
               "dropout on the attention probabilities")
          .add("initializer_range", &EncoderConfig::initializer_range,
               "standard deviation of the initial weight matrices");
  return list;
}

std::string EncoderConfig::to_json() const { return fields().to_json(*this); }

EncoderConfig EncoderConfig::from_json(std::string_view text) { return fields().from_json(text); }

}  // namespace weft
