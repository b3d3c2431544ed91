#include "weft/models/families/encoder_config.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/families/layer_pattern.h"
#include "weft/models/families/rotary_fields.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 7> kEncoderPositions = {
    "absolute", "relative_key", "relative_key_query", "disentangled",
    "none",     "rotary",       "relative_bias"};
constexpr std::array<std::string_view, 3> kProjections = {"none", "after_norm", "before_norm"};
constexpr std::array<std::string_view, 3> kHeadPoolings = {"first", "mean", "late"};

void check_encoder_positions(const EncoderConfig& c) {
  const bool rotary = c.positions == EncoderPositions::rotary;
  check::not_negative("rotary_window_base", c.rotary_window_base);
  check::needs(rotary, "rotary positions",
               {{"rotary_adjacent", c.rotary_adjacent},
                {"rotary_values", c.rotary_values},
                {"fused_qkv", c.fused_qkv},
                {"rotary_window_base", c.rotary_window_base != 0}});
  if (rotary) {
    check::positive("rotary_base", c.rotary_base);
    if (!(c.rotary_share > 0 && c.rotary_share <= 1))
      throw ArgumentError(fmt::format("rotary_share must be in (0, 1], not {}", c.rotary_share));
    if (c.rotary_size() < 2 || c.rotary_size() % 2 != 0)
      throw ArgumentError(fmt::format(
          "rotary_share {} of head size {} is {} features: the number must be even and at least 2",
          c.rotary_share, c.head_width(), c.rotary_size()));
  }
  check::rotary_scaling(rotary_scaling(c), choice_name(c.positions), c.rotary_base,
                        c.rotary_size());
  // Half of the buckets is for each direction, and half of these is for single distances.
  if (c.positions == EncoderPositions::relative_bias &&
      (c.relative_buckets < 4 || c.relative_max_distance <= c.relative_buckets / 4))
    throw ArgumentError(fmt::format(
        "relative_buckets {} must be at least 4, and relative_max_distance {} more than a quarter "
        "of it",
        c.relative_buckets, c.relative_max_distance));
}

void check_encoder_attention(const EncoderConfig& c) {
  check::at_least("kv_heads", c.kv_heads, 0);
  check::at_least("attention_window", c.window, 0);
  check::at_least("separator_id", c.separator_id, 0);
  check::at_most({{"kv_heads", c.kv_heads, size_limits::kHeads},
                  {"attention_window", c.window, size_limits::kPositions},
                  {"task_types", c.task_types, size_limits::kVocab},
                  {"rotary_context", c.rotary_context, size_limits::kPositions},
                  {"relative_buckets", c.relative_buckets, size_limits::kPositions},
                  {"relative_max_distance", c.relative_max_distance, size_limits::kPositions}});
  if (c.heads % c.key_heads() != 0)
    throw ArgumentError(fmt::format("kv_heads {} must divide heads {}", c.kv_heads, c.heads));
  check::needs(c.window > 0, "an attention_window",
               {{"window_layers", !c.window_layers.empty()},
                {"rotary_window_base", c.rotary_window_base != 0}});
  check_pattern("window_layers", c.window_layers, c.layers);
  if (!c.layer_windows.empty() && (c.window > 0 || std::ssize(c.layer_windows) != c.layers))
    throw ArgumentError(fmt::format(
        "layer_windows needs one window for each of the {} layers, not {}, and no window", c.layers,
        c.layer_windows.size()));
  for (const double window : c.layer_windows) {
    check::in_range("layer_windows", window, 0, static_cast<double>(size_limits::kPositions));
    if (window != std::floor(window))
      throw ArgumentError(fmt::format("layer_windows must be integers, not {}", window));
  }
  const bool disentangled = c.positions == EncoderPositions::disentangled;
  const bool keys = c.positions == EncoderPositions::relative_key ||
                    c.positions == EncoderPositions::relative_key_query;
  const std::string other = fmt::format("positions other than {}", choice_name(c.positions));
  check::needs(!disentangled && !keys, other, {{"kv_heads", c.key_heads() != c.heads}});
  check::needs(c.positions == EncoderPositions::absolute && !c.causal && c.key_heads() == c.heads &&
                   c.layer_groups == 0,
               "absolute positions, kv_heads 0, layers with their own weights, and no causal",
               {{"global_attention", c.global_attention}});
  check::needs(!disentangled && c.layer_groups == 0,
               "positions other than disentangled, and layers with their own weights",
               {{"layer_windows", !c.layer_windows.empty()}});
  check::needs(!disentangled, other,
               {{"attention_window", c.window > 0},
                {"causal", c.causal},
                {"attention_bias = false", !c.attention_bias}});
  check::needs(c.layer_groups == 0, "layers with their own weights (layer_groups 0)",
               {{"window_layers", !c.window_layers.empty()},
                {"first_attention_norm = false", !c.first_attention_norm}});
  check::needs(c.gated, "gated", {{"fused_gate", c.fused_gate}});
  check::needs(c.mlp_bias, "mlp_bias", {{"up_bias = false", !c.up_bias}});
  check::needs(c.norm_first, "norm_first",
               {{"embedding_norm", c.embedding_norm},
                {"first_attention_norm = false", !c.first_attention_norm},
                {"final_norm", c.final_norm}});
}

}  // namespace

ChoiceNames choice_names(EncoderPositions) { return {"positions", kEncoderPositions}; }
ChoiceNames choice_names(HeadPooling) { return {"head_pooling", kHeadPoolings}; }
ChoiceNames choice_names(EmbeddingProjection) { return {"embedding_projection", kProjections}; }

EncoderConfig EncoderConfig::modernbert() {
  return {.vocab = 50368,
          .context = 8192,
          .token_types = 0,
          .padding_id = 50283,
          .layers = 22,
          .inner = 1152,
          .gated = true,
          .fused_gate = true,
          .attention_bias = false,
          .mlp_bias = false,
          .layer_norm_eps = 1e-5,
          .norm_bias = false,
          .norm_first = true,
          .embedding_norm = true,
          .first_attention_norm = false,
          .final_norm = true,
          .positions = EncoderPositions::rotary,
          .rotary_base = 160000,
          .rotary_window_base = 10000,
          .window = 128,
          .window_layers = "011",
          .fused_qkv = true,
          .head_bias = false,
          .head_norm = true,
          .token_head = true,
          .head_activation = "gelu_erf"};
}

std::int64_t EncoderConfig::window_at(std::int64_t layer) const {
  if (!layer_windows.empty())
    return static_cast<std::int64_t>(layer_windows.at(static_cast<std::size_t>(layer)));
  return layer_selected(window_layers, layer) ? window : 0;
}

std::int64_t EncoderConfig::rotary_size() const {
  if (positions != EncoderPositions::rotary) return 0;
  return static_cast<std::int64_t>(static_cast<double>(head_width()) * rotary_share);
}

Activation EncoderConfig::activation_in_heads() const {
  return head_activation.empty() ? activation : parse_choice<Activation>(head_activation);
}

void EncoderConfig::check() const {
  check::at_least("vocab", vocab, 1);
  check::at_least("context", context, 1);
  check::at_least("token_types", token_types, 0);
  check::at_least("task_types", task_types, 0);
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
  static_cast<void>(activation_in_heads());
  check_encoder_attention(*this);
  check_encoder_positions(*this);
  check::rate("hidden_dropout", hidden_dropout);
  check::rate("attention_dropout", attention_dropout);
  check::rate("embedding_dropout", embedding_dropout);
  check::rate("attention_out_dropout", attention_out_dropout);
  check::rate("inner_dropout", inner_dropout);
  check::positive("layer_norm_eps", layer_norm_eps);
  check::not_negative("initializer_range", initializer_range);
}

static FieldList<EncoderConfig> make_encoder_fields() {
  auto list =
      FieldList<EncoderConfig>("the model config", "encoder")
          .add("vocab", &EncoderConfig::vocab, "vocabulary size")
          .add("context", &EncoderConfig::context,
               "number of positions: maximum text length in tokens")
          .add("token_types", &EncoderConfig::token_types,
               "number of token types (segments); 0 = no token type embeddings")
          .added("task_types", &EncoderConfig::task_types,
                 "number of task types (ERNIE); 0 = no task type embeddings")
          .add("padding_id", &EncoderConfig::padding_id,
               "padding id; its embedding is not trained; -1 = none")
          .add("layers", &EncoderConfig::layers,
               "number of layers; may be 0 with norm-first and a convolution")
          .add("heads", &EncoderConfig::heads,
               "attention heads; must divide width if head-size is 0")
          .added("kv_heads", &EncoderConfig::kv_heads,
                 "number of key/value heads; must divide heads; 0 = same as heads")
          .add("head_size", &EncoderConfig::head_size, "features per head; 0 = width / heads")
          .add("width", &EncoderConfig::width, "width of the hidden states")
          .add("inner", &EncoderConfig::inner, "width of the feed-forward block")
          .add("embedding_width", &EncoderConfig::embedding_width,
               "width of the embeddings; 0 = width")
          .add("embedding_projection", &EncoderConfig::embedding_projection,
               "where embeddings are projected to the width of the layers")
          .add("activation", &EncoderConfig::activation, "activation of the feed-forward block")
          .added("gated", &EncoderConfig::gated, "use a gated feed-forward block (GeGLU with gelu)")
          .added("fused_gate", &EncoderConfig::fused_gate,
                 "keep the gate and up matrices of the feed-forward block in one matrix")
          .added("attention_bias", &EncoderConfig::attention_bias, "biases in attention")
          .added("mlp_bias", &EncoderConfig::mlp_bias, "biases in the feed-forward block")
          .added("up_bias", &EncoderConfig::up_bias,
                 "biases of all matrices of the feed-forward block, not only of the last one")
          .add("layer_norm_eps", &EncoderConfig::layer_norm_eps, "epsilon of the norms")
          .added("rms_norm", &EncoderConfig::rms_norm, "RMSNorm instead of LayerNorm")
          .added("norm_bias", &EncoderConfig::norm_bias, "biases of layer norms")
          .added("norm_first", &EncoderConfig::norm_first,
                 "normalise before attention and feed-forward, but not after the embeddings")
          .added("embedding_norm", &EncoderConfig::embedding_norm,
                 "with norm-first: also normalise the embeddings")
          .added("first_attention_norm", &EncoderConfig::first_attention_norm,
                 "with norm-first: normalise before the attention of the first layer")
          .added("final_norm", &EncoderConfig::final_norm,
                 "with norm-first: also normalise the last hidden states")
          .add("positions", &EncoderConfig::positions,
               "position encoding; disentangled is used by DeBERTa, rotary by ModernBERT, "
               "relative_bias by MPNet")
          .add("positions_skip_padding", &EncoderConfig::positions_skip_padding,
               "number only tokens that are not padding, from padding-id + 1 (RoBERTa)")
          .add("trainable_positions", &EncoderConfig::trainable_positions,
               "train learned positions; otherwise they keep their initial or loaded values")
          .added("rotary_base", &EncoderConfig::rotary_base,
                 "base of the rotary position frequencies")
          .added("rotary_window_base", &EncoderConfig::rotary_window_base,
                 "base without scaling in layers with the window; 0 = as in the other layers")
          .added("rotary_share", &EncoderConfig::rotary_share,
                 "fraction of a head's features that are rotated")
          .added("rotary_adjacent", &EncoderConfig::rotary_adjacent,
                 "rotate pairs of adjacent features")
          .added("rotary_values", &EncoderConfig::rotary_values, "also rotate the values");
  add_rotary_scaling_fields(list);
  list.added("relative_buckets", &EncoderConfig::relative_buckets,
             "relative_bias: number of distance buckets")
      .added("relative_max_distance", &EncoderConfig::relative_max_distance,
             "relative_bias: all distances of at least this value share a bucket")
      .added("attention_window", &EncoderConfig::window,
             "tokens attend to the tokens at distances of at most attention-window / 2; 0 = all")
      .added("window_layers", &EncoderConfig::window_layers,
             "pattern of 0 and 1: layers with the window; empty = all")
      .added("fused_qkv", &EncoderConfig::fused_qkv,
             "rotary: one matrix for queries, keys and values")
      .added("layer_windows", &EncoderConfig::layer_windows,
             "window of each layer, in place of --attention-window; 0 = all")
      .added("global_attention", &EncoderConfig::global_attention,
             "selected tokens attend to all tokens, and all tokens to them (Longformer)")
      .added("separator_id", &EncoderConfig::separator_id,
             "global attention: id that ends a question")
      .added("causal", &EncoderConfig::causal, "tokens do not attend to later tokens")
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
      .added("tied_head", &EncoderConfig::tied_head,
             "masked language models: use the token embedding as the output projection")
      .added("decoder_bias", &EncoderConfig::decoder_bias,
             "masked language models: bias of the output projection")
      .added("head_transform", &EncoderConfig::head_transform,
             "masked language models: hidden layer and norm before the output projection")
      .added("head_bias", &EncoderConfig::head_bias, "biases of hidden layers in heads")
      .added("head_norm", &EncoderConfig::head_norm,
             "text classifiers: norm after the hidden layer of the head")
      .added("token_head", &EncoderConfig::token_head,
             "hidden layer and norm before the scores of tokens")
      .added("head_pooling", &EncoderConfig::head_pooling,
             "text classifiers: pooling of the tokens; late = after the hidden layer")
      .added("head_activation", &EncoderConfig::head_activation,
             "activation of hidden layers before scores of words and tokens; empty = as in the "
             "feed-forward block")
      .add("hidden_dropout", &EncoderConfig::hidden_dropout,
           "dropout on the embeddings and on the outputs of blocks")
      .add("attention_dropout", &EncoderConfig::attention_dropout,
           "dropout on the attention probabilities")
      .added("embedding_dropout", &EncoderConfig::embedding_dropout,
             "further dropout on the embeddings")
      .added("attention_out_dropout", &EncoderConfig::attention_out_dropout,
             "further dropout on the outputs of attention")
      .added("inner_dropout", &EncoderConfig::inner_dropout,
             "dropout inside the feed-forward blocks")
      .add("initializer_range", &EncoderConfig::initializer_range,
           "standard deviation of the initial weight matrices");
  return list;
}

const FieldList<EncoderConfig>& EncoderConfig::fields() {
  static const FieldList<EncoderConfig> list = make_encoder_fields();
  return list;
}

std::string EncoderConfig::to_json() const { return fields().to_json(*this); }

EncoderConfig EncoderConfig::from_json(std::string_view text) { return fields().from_json(text); }

}  // namespace weft
