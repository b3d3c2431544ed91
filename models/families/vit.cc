#include "weft/models/families/vit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

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
    : scope_(scope), config_(checked(config)), norm_{scope, {}, {}, config.layer_norm_eps} {
  Graph::Frame frame(scope.graph(), "vit", loc, scope.path());
  const VitConfig& c = config_;
  const VariableOptions start{.initializer = Initializer::truncated_normal(c.initializer_range)};
  const Scope patches = scope / "patches";
  patches_ = patches.variable("weight", DType::f32,
                              {c.width, c.channels, c.patch_height, c.patch_width}, start);
  patches_bias_ = patches.variable("bias", DType::f32, {c.width});
  const auto token = [&](const char* name) {
    return scope.variable(name, DType::f32, {1, 1, c.width}, start);
  };
  if (c.pooling == VitPooling::class_token) class_token_ = token("class_token");
  if (c.distillation) distillation_token_ = token("distillation_token");
  if (masked_patches) mask_token_ = token("mask_token");
  if (c.positions == VitPositions::learned)
    positions_ = scope.variable("positions", DType::f32, {1, c.tokens(), c.width}, start);
  for (std::int64_t i = 0; i < c.layers; ++i) layers_.push_back(make_layer(scope / "layers" / i));
  norm_ = make_norm(scope / "norm", DType::f32, c.width, {.eps = c.layer_norm_eps});
}

Vit::Layer Vit::make_layer(const Scope& scope) const {
  const VitConfig& c = config_;
  const LinearOptions linear{.initializer = Initializer::truncated_normal(c.initializer_range)};
  LinearOptions qkv = linear;
  qkv.bias = c.qkv_bias;
  const NormLayerOptions norm{.eps = c.layer_norm_eps};
  return {make_multi_head_attention(scope / "attention", DType::f32, c.width,
                                    {.heads = c.heads, .in = qkv, .out = linear}),
          make_norm(scope / "attention_norm", DType::f32, c.width, norm),
          make_feed_forward(scope / "feed_forward", DType::f32, c.width,
                            {.inner = c.inner,
                             .activation = c.activation,
                             .up = linear,
                             .down = linear,
                             .up_name = "up",
                             .down_name = "down"}),
          make_norm(scope / "feed_forward_norm", DType::f32, c.width, norm)};
}

Vit Vit::in(Mode mode) const {
  Vit result = *this;
  result.scope_ = scope_.in(mode);
  return result;
}

Value Vit::drop(Value x) const { return dropout(scope_, x, config_.dropout); }

Value Vit::position_table() const {
  if (positions_.defined()) return positions_;
  Graph& graph = scope_.graph();
  const std::int64_t rows = config_.rows(), columns = config_.columns(), half = config_.width / 2;
  const Shape grid{rows, columns};
  const auto along = [&](int axis) {
    return sinusoidal_positions(iota(graph, grid, axis, DType::i64), half, DType::f32);
  };
  const Value table = reshape(concat({along(0), along(1)}, -1), {1, rows * columns, config_.width});
  return pad(table, {{0, 0}, {config_.extra_tokens(), 0}, {0, 0}});
}

Value Vit::embed(Value images, Value mask) const {
  const VitConfig& c = config_;
  const Dim& batch = images.size(0);
  const Value grid =
      conv2d(images, patches_, patches_bias_, {.stride = {c.patch_height, c.patch_width}});
  Value h = permute(reshape(grid, {batch, c.width, c.rows() * c.columns()}), {0, 2, 1});
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
  return drop(h + position_table());
}

VitOutputs Vit::operator()(Value images, Value mask, SourceLocation loc) const {
  Graph& graph = scope_.graph();
  Graph::Frame frame(graph, "vit", loc, scope_.path());
  const VitConfig& c = config_;
  if (images.rank() != 4 ||
      images.shape() != Shape{images.size(0), c.channels, c.image_height, c.image_width}) {
    graph.fail(ShapeError(fmt::format("images must be [batch, {}, {}, {}]", c.channels,
                                      c.image_height, c.image_width)),
               "vit", {images}, loc);
  }
  if (mask.defined() && !mask_token_.defined()) {
    graph.fail(
        ArgumentError("patches can be masked only in a model that was built with masked_patches"),
        "vit", {images, mask}, loc);
  }
  AttentionOptions attention;
  if (drops_out(scope_, c.attention_dropout, loc)) {
    attention.dropout = c.attention_dropout;
    attention.key = graph.key("dropout");
  }
  VitOutputs outputs;
  Value h = embed(images, mask);
  for (const Layer& layer : layers_) {
    outputs.hidden.push_back(h);
    const Value x = layer.attention_norm(h);
    h = h + drop(layer.attention(x, x, attention));
    h = h + drop(layer.feed_forward(layer.feed_forward_norm(h)));
  }
  outputs.hidden.push_back(h);
  outputs.last_hidden_state = norm_(h);
  return outputs;
}

Value Vit::pool(Value last_hidden_state) const {
  return config_.pooling == VitPooling::mean ? mean(last_hidden_state, 1)
                                             : select(last_hidden_state, 1, Dim(0));
}

namespace {

/// Returns the cubic convolution weights of four neighbouring samples for a point at fraction `t`
/// between the middle two (Keys 1981).
std::array<double, 4> cubic_weights(double t) {
  constexpr double a = -0.75;
  const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

}  // namespace

Tensor interpolate_positions(const Tensor& table, const VitConfig& from, const VitConfig& to) {
  const std::int64_t width = from.width, extra = from.extra_tokens();
  if (table.dtype() != DType::f32 || table.sizes() != Sizes{1, from.tokens(), width} ||
      to.width != width || to.extra_tokens() != extra) {
    throw ShapeError(fmt::format(
        "the position table must be f32[1, {}, {}] with {} tokens before the patches and "
        "the same width as the new table, not {}",
        from.tokens(), width, to.extra_tokens(), table.type_str()));
  }
  Tensor result = Tensor::empty(DType::f32, {1, to.tokens(), width});
  const float* in = table.data<float>();
  auto* out = result.mutable_data<float>();
  std::copy_n(in, extra * width, out);
  const std::int64_t rows = from.rows(), columns = from.columns();
  const auto source = [](std::int64_t i, std::int64_t size, std::int64_t count) {
    return (static_cast<double>(i) + 0.5) * static_cast<double>(size) / static_cast<double>(count) -
           0.5;
  };
  for (std::int64_t i = 0; i < to.rows() * to.columns(); ++i) {
    const double y = source(i / to.columns(), rows, to.rows());
    const double x = source(i % to.columns(), columns, to.columns());
    const auto wy = cubic_weights(y - std::floor(y)), wx = cubic_weights(x - std::floor(x));
    for (std::int64_t f = 0; f < width; ++f) {
      double sum = 0;
      for (std::int64_t j = 0; j < 16; ++j) {
        const auto row = std::clamp<std::int64_t>(
            static_cast<std::int64_t>(std::floor(y)) - 1 + j / 4, 0, rows - 1);
        const auto column = std::clamp<std::int64_t>(
            static_cast<std::int64_t>(std::floor(x)) - 1 + j % 4, 0, columns - 1);
        sum += wy[static_cast<std::size_t>(j / 4)] * wx[static_cast<std::size_t>(j % 4)] *
               in[(extra + row * columns + column) * width + f];
      }
      out[(extra + i) * width + f] = static_cast<float>(sum);
    }
  }
  return result;
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
