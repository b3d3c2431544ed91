#include "weft/models/families/vit.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/layers/attention/positions.h"
#include "weft/models/layers/batch_sum.h"
#include "weft/models/layers/dropout.h"

namespace weft {
namespace {

VitConfig checked(VitConfig config) {
  config.check();
  return config;
}

}  // namespace

Vit::Vit(const Scope& scope, const VitConfig& config, bool masked_patches, SourceLocation loc)
    : scope_(scope), config_(checked(config)) {
  Graph::Frame frame(scope.graph(), "vit", loc, scope.path());
  const VitConfig& c = config_;
  const VariableOptions start{.initializer = Initializer::truncated_normal(c.initializer_range)};
  const NormLayerOptions norm{.eps = c.layer_norm_eps};
  const Scope patches = scope / "patches";
  patches_ = patches.variable("weight", DType::f32,
                              {c.width, c.channels, c.patch_height, c.patch_width}, start);
  if (c.patch_bias) patches_bias_ = patches.variable("bias", DType::f32, {c.width});
  const auto token = [&](const char* name, std::int64_t count = 1) {
    return scope.variable(name, DType::f32, {1, count, c.width}, start);
  };
  if (c.has_class_token()) class_token_ = token("class_token");
  if (c.distillation) distillation_token_ = token("distillation_token");
  if (masked_patches || c.mask_token) mask_token_ = token("mask_token");
  if (c.registers > 0) registers_ = token("registers", c.registers);
  if (c.positions == VitPositions::learned) positions_ = token("positions", c.position_count());
  if (c.positions == VitPositions::fixed)
    positions_ = scope.variable("positions", DType::f32, {1, c.position_count(), c.width},
                                {.trainable = false, .initializer = Initializer::zeros()});
  if (c.shared_relative_bias)
    relative_bias_ = scope.variable("relative_bias", DType::f32,
                                    {relative_bias_rows({c.rows(), c.columns()}), c.heads});
  if (c.embedding_norm)
    embedding_norm_ = make_norm(scope / "embedding_norm", DType::f32, c.width, norm);
  for (std::int64_t i = 0; i < c.layers; ++i)
    layers_.push_back(make_vit_layer(scope / "layers" / i, c, drop_path_of(c, i, c.layers)));
  if (c.final_norm || c.pooled_norm) norm_ = make_norm(scope / "norm", DType::f32, c.width, norm);
  if (c.pooling != VitPooling::attention) return;
  const Scope pool = scope / "pool";
  const auto linear = [&](const Scope& at, std::int64_t in, std::int64_t out) {
    return make_linear(at, DType::f32, in, out, {.initializer = start.initializer});
  };
  pool_ = Pool{
      pool.variable("query", DType::f32, {1, 1, c.width}, start),
      make_multi_head_attention(pool / "attention", DType::f32, c.width,
                                {.heads = c.heads,
                                 .in = {.initializer = start.initializer},
                                 .out = {.initializer = start.initializer}}),
      make_norm(pool / "norm", DType::f32, c.width, norm),
      FeedForward{pool / "feed_forward", linear(pool / "feed_forward" / "up", c.width, c.inner),
                  linear(pool / "feed_forward" / "down", c.inner, c.width), c.activation}};
}

Vit Vit::in(Mode mode) const {
  Vit result = *this;
  result.scope_ = scope_.in(mode);
  return result;
}

PatchGrid Vit::grid_of(Value images) const {
  return {images.size(2).constant() / config_.patch_height,
          images.size(3).constant() / config_.patch_width};
}

void Vit::check_images(Value images, SourceLocation loc) const {
  const VitConfig& c = config_;
  const bool any_size =
      images.rank() == 4 && images.size(2).is_constant() && images.size(3).is_constant() &&
      (c.interpolation != VitInterpolation::none || c.positions == VitPositions::rotary_2d ||
       c.positions == VitPositions::none);
  if (images.rank() == 4 &&
      images.shape() == Shape{images.size(0), c.channels,
                              any_size ? images.size(2) : Dim(c.image_height),
                              any_size ? images.size(3) : Dim(c.image_width)} &&
      (!any_size || (grid_of(images).rows > 0 && grid_of(images).columns > 0))) {
    return;
  }
  scope_.graph().fail(
      ShapeError(any_size ? fmt::format("images must be [batch, {}, height, width] and contain at "
                                        "least one patch of {} x {}",
                                        c.channels, c.patch_height, c.patch_width)
                          : fmt::format("images must be [batch, {}, {}, {}]", c.channels,
                                        c.image_height, c.image_width)),
      "vit", {images}, loc);
}

Value Vit::position_table(PatchGrid grid) const {
  const VitConfig& c = config_;
  if (positions_.defined()) {
    return resize_position_table(positions_, c.position_extra(), {c.rows(), c.columns()}, grid,
                                 c.interpolation == VitInterpolation::antialias
                                     ? GridFilter::antialias
                                     : GridFilter::bicubic);
  }
  if (c.positions != VitPositions::sinusoidal_2d) return {};
  Graph& graph = scope_.graph();
  const Shape shape{grid.rows, grid.columns};
  const auto along = [&](int axis) {
    return sinusoidal_positions(iota(graph, shape, axis, DType::i64), c.width / 2, DType::f32);
  };
  const Value table =
      reshape(concat({along(0), along(1)}, -1), {1, grid.rows * grid.columns, c.width});
  return pad(table, {{0, 0}, {c.position_extra(), 0}, {0, 0}});
}

Value Vit::embed(Value images, Value mask, Value kept) const {
  const VitConfig& c = config_;
  const Dim& batch = images.size(0);
  const PatchGrid grid = grid_of(images);
  const std::int64_t patches = grid.rows * grid.columns, extra = c.position_extra();
  OptionalArg bias;
  if (patches_bias_.defined()) bias = patches_bias_;
  const Value convolved =
      conv2d(images, patches_, bias, {.stride = {c.patch_height, c.patch_width}});
  Value h = permute(reshape(convolved, {batch, c.width, patches}), {0, 2, 1});
  if (mask.defined()) {
    const Value hidden = unsqueeze(cast(mask, h.dtype()), 2);
    h = h * (1 - hidden) + mask_token_ * hidden;
  }
  std::vector<Value> parts;
  for (const Variable& token : {class_token_, distillation_token_}) {
    if (token.defined()) parts.push_back(broadcast_to(token, {batch, 1, c.width}));
  }
  if (!parts.empty()) {
    parts.push_back(h);
    h = concat(parts, 1);
  }
  if (const Value table = position_table(grid); table.defined()) h = h + table;
  if (registers_.defined() || kept.defined()) {
    parts.clear();
    if (extra > 0) parts.push_back(slice(h, 1, {.end = Dim(extra)}));
    if (registers_.defined())
      parts.push_back(broadcast_to(registers_, {batch, c.registers, c.width}));
    Value rest = slice(h, 1, {.begin = Dim(extra)});
    if (kept.defined()) {
      const Value index = broadcast_to(unsqueeze(kept, 2), {batch, kept.size(1), c.width});
      rest = take_along_axis(rest, index, 1);
    }
    parts.push_back(rest);
    h = concat(parts, 1);
  }
  if (embedding_norm_) h = (*embedding_norm_)(h);
  return dropout(scope_, h, c.dropout);
}

VitOutputs Vit::run(Value h, PatchGrid grid, SourceLocation loc) const {
  const VitConfig& c = config_;
  const PatchGrid own{c.rows(), c.columns()};
  AttentionOptions attention;
  if (drops_out(scope_, c.attention_dropout, loc)) {
    attention.dropout = c.attention_dropout;
    attention.key = scope_.graph().key("dropout");
  }
  TokenRotation rotation;
  if (c.positions == VitPositions::rotary_2d) rotation = patch_rotation(scope_, c, grid);
  Value index, shared;
  if (c.relative_bias || c.shared_relative_bias)
    index = scope_.graph().constant(relative_bias_index(grid));
  if (relative_bias_.defined()) shared = relative_bias(relative_bias_, own, grid, index);
  VitOutputs outputs;
  for (const VitLayer& layer : layers_) {
    outputs.hidden.push_back(h);
    Value bias = shared;
    if (layer.relative_bias.defined()) {
      bias = relative_bias(layer.relative_bias, own, grid, index);
      if (shared.defined()) bias = bias + shared;
    }
    if (bias.defined()) attention.bias = bias;
    h = layer(scope_, h, attention, rotation);
  }
  outputs.hidden.push_back(h);
  outputs.last_hidden_state = c.final_norm ? (*norm_)(h) : h;
  return outputs;
}

VitOutputs Vit::operator()(Value images, Value mask, SourceLocation loc) const {
  Graph& graph = scope_.graph();
  Graph::Frame frame(graph, "vit", loc, scope_.path());
  check_images(images, loc);
  if (mask.defined() && !mask_token_.defined()) {
    graph.fail(
        ArgumentError("patches can be masked only in a model that was built with masked_patches"),
        "vit", {images, mask}, loc);
  }
  return run(embed(images, mask, {}), grid_of(images), loc);
}

VitOutputs Vit::visible(Value images, Value kept, SourceLocation loc) const {
  Graph& graph = scope_.graph();
  Graph::Frame frame(graph, "vit", loc, scope_.path());
  check_images(images, loc);
  if (config_.relative_bias || config_.shared_relative_bias ||
      config_.positions == VitPositions::rotary_2d) {
    graph.fail(ArgumentError("patches can be left out only if positions are added to the "
                             "embeddings: use learned, sinusoidal_2d or fixed positions, without "
                             "relative biases"),
               "vit", {images, kept}, loc);
  }
  return run(embed(images, {}, kept), grid_of(images), loc);
}

Value Vit::pool(Value last_hidden_state) const {
  const Value first = config_.has_class_token() ? select(last_hidden_state, 1, Dim(0)) : Value();
  const std::int64_t extra = config_.extra_tokens();
  const auto patch_mean = [&] {
    return mean(extra == 0 ? last_hidden_state : slice(last_hidden_state, 1, {.begin = Dim(extra)}),
                1);
  };
  Value pooled;
  switch (config_.pooling) {
    case VitPooling::class_token: pooled = first; break;
    case VitPooling::mean:
    case VitPooling::patch_mean: pooled = patch_mean(); break;
    case VitPooling::class_and_mean: return concat({first, patch_mean()}, 1);
    case VitPooling::attention: {
      const Value query = broadcast_to(pool_->query, {last_hidden_state.size(0), 1, config_.width});
      const Value h = pool_->attention(query, last_hidden_state);
      pooled = select(h + pool_->feed_forward(pool_->norm(h)), 1, Dim(0));
      break;
    }
  }
  return config_.final_norm || !config_.pooled_norm ? pooled : (*norm_)(pooled);
}

PixelHead make_pixel_head(const Scope& scope, const VitConfig& config, std::int64_t stride) {
  const std::int64_t outputs = config.channels * stride * stride;
  return {scope,
          scope.variable("weight", DType::f32, {outputs, config.width, 1, 1},
                         {.initializer = Initializer::truncated_normal(config.initializer_range)}),
          scope.variable("bias", DType::f32, {outputs}), stride};
}

Value PixelHead::operator()(Value h, std::int64_t rows, std::int64_t columns) const {
  const Value grid = reshape(permute(h, {0, 2, 1}), {h.size(0), h.size(2), rows, columns});
  return pixel_shuffle(conv2d(grid, weight, bias), stride);
}

Value masked_pixels(const VitConfig& config, Value mask, DType dtype) {
  const Value patches =
      reshape(cast(mask, dtype), {mask.size(0), 1, config.rows(), config.columns()});
  return repeat_interleave(repeat_interleave(patches, config.patch_height, 2), config.patch_width,
                           3);
}

Value masked_pixel_loss(const VitConfig& config, Value images, Value pixels, Value mask,
                        Reduction reduction, SourceLocation loc) {
  Graph::Frame frame(images.graph(), "masked_pixel_loss", loc);
  const Value hidden = masked_pixels(config, mask, images.dtype());
  const Value error = batch_sum(sum(l1(pixels, images, Reduction::none) * hidden), reduction);
  return error / (batch_sum(sum(hidden), reduction) + 1e-5) / static_cast<double>(config.channels);
}

}  // namespace weft
