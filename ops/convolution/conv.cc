// Records and shape rules of conv2d, its two adjoints, and conv2d_fused, which the pass `epilogue`
// creates after differentiation.
#include <fmt/format.h>

#include "weft/ops/builtin.h"
#include "weft/ops/convolution/conv_kernel.h"
#include "weft/ops/convolution/window.h"
#include "weft/ops/fusion/epilogue.h"
#include "weft/ops/operands.h"

namespace weft {
namespace {

std::int64_t checked_groups(const InferContext& c) {
  const std::int64_t groups = c.attributes().integer("groups");
  if (groups < 1) throw ArgumentError(fmt::format("groups must be at least 1, but is {}", groups));
  return groups;
}

// Returns channels / groups; throws ShapeError if the division is not exact.
Dim per_group(const Dim& channels, std::int64_t groups, std::string_view what) {
  if (const auto d = Dim::try_exact_div(channels, Dim(groups))) return *d;
  throw ShapeError(
      fmt::format("{}, {}, must be a multiple of groups, {}", what, channels.str(), groups));
}

// Returns the windows for a kernel of shape [.., .., height, width].
Windows windows_of(const InferContext& c, const Dim& height, const Dim& width) {
  if (!height.is_constant() || !width.is_constant()) {
    throw ShapeError(
        fmt::format("the kernel must have constant sizes of at least 1, but has {} x {}",
                    height.str(), width.str()));
  }
  return {c.attributes(), height.constant(), width.constant()};
}

std::vector<ValueType> infer_conv2d(const InferContext& c) {
  c.require_floating(0, "x");
  c.require_same_dtype(0, 1);
  c.require_rank(0, 4, "x [N, C, H, W]");
  c.require_rank(1, 4, "w [O, C / groups, kh, kw]");
  const std::int64_t groups = checked_groups(c);
  const Shape &x = c.shape(0), &w = c.shape(1);
  const Windows windows = windows_of(c, w[2], w[3]);
  per_group(w[0], groups, "the number of output channels");
  c.require_equal(x[1], w[1] * Dim(groups),
                  "channels of x (axis 1) and of w (axis 1) times groups");
  const auto out = windows.positions(x[2], x[3]);
  return {{c.dtype(0), {x[0], w[0], out[0], out[1]}}};
}

std::vector<ValueType> infer_fused(const InferContext& c) {
  return infer_epilogue(c, infer_conv2d(c)[0], 2, ProductLayout::images);
}

std::vector<ValueType> infer_input_grad(const InferContext& c) {
  c.require_floating(0, "g");
  c.require_same_dtype(0, 1);
  c.require_rank(0, 4, "g [N, O, OH, OW]");
  c.require_rank(1, 4, "w [O, C / groups, kh, kw]");
  const std::int64_t groups = checked_groups(c);
  const Shape &g = c.shape(0), &w = c.shape(1);
  const Windows windows = windows_of(c, w[2], w[3]);
  per_group(w[0], groups, "the number of output channels");
  c.require_equal(g[1], w[0], "output channels of g (axis 1) and of w (axis 0)");
  const Dim &height = c.attributes().dim("height"), &width = c.attributes().dim("width");
  const auto out = windows.positions(height, width);
  c.require_shape(0, {g[0], g[1], out[0], out[1]}, "g");
  return {{c.dtype(0), {g[0], w[1] * Dim(groups), height, width}}};
}

std::vector<ValueType> infer_weight_grad(const InferContext& c) {
  c.require_floating(0, "g");
  c.require_same_dtype(0, 1);
  c.require_rank(0, 4, "g [N, O, OH, OW]");
  c.require_rank(1, 4, "x [N, C, H, W]");
  const std::int64_t groups = checked_groups(c);
  const Shape &g = c.shape(0), &x = c.shape(1);
  const auto kernel = window_pair(c.attributes(), "kernel", 1);
  per_group(g[1], groups, "the number of output channels");
  const Dim channels = per_group(x[1], groups, "the number of channels");
  const auto out = Windows(c.attributes(), kernel[0], kernel[1]).positions(x[2], x[3]);
  c.require_shape(0, {x[0], g[1], out[0], out[1]}, "g");
  return {{c.dtype(0), {g[1], channels, Dim(kernel[0]), Dim(kernel[1])}}};
}

Cost conv_cost(double outputs, double taps, const KernelRequest& r) {
  const auto elements =
      static_cast<double>(r.inputs[0].numel() + r.inputs[1].numel() + r.outputs[0].numel());
  return {.flops = 2 * outputs * taps,
          .bytes = elements * static_cast<double>(dtype_size(r.inputs[0].dtype))};
}

// Returns the number of multiplications per output element of the forward op.
double taps_of(const Sizes& w) { return static_cast<double>(w[1] * w[2] * w[3]); }

Cost conv2d_cost(const KernelRequest& r) {
  return conv_cost(static_cast<double>(r.outputs[0].numel()), taps_of(r.inputs[1].sizes), r);
}
Cost fused_cost(const KernelRequest& r) {
  return {.flops = conv2d_cost(r).flops + epilogue_flops(r), .bytes = operand_bytes(r)};
}
Cost input_grad_cost(const KernelRequest& r) {
  return conv_cost(static_cast<double>(r.inputs[0].numel()), taps_of(r.inputs[1].sizes), r);
}
Cost weight_grad_cost(const KernelRequest& r) {
  return conv_cost(static_cast<double>(r.inputs[0].numel()), taps_of(r.outputs[0].sizes), r);
}

using Ints = std::vector<std::int64_t>;

std::vector<AttributeSpec> conv_attributes() {
  return {{"stride", Ints{1, 1}},
          {"padding", Ints{0, 0}},
          {"dilation", Ints{1, 1}},
          {"groups", std::int64_t{1}}};
}

}  // namespace

void ConvOps::add(OpSet& ops) {
  OpRecord conv;
  conv.name = "conv2d";
  conv.doc =
      "Cross-correlation of x [N, C, H, W] with w [O, C / groups, kh, kw] and zero padding: "
      "out[n, o, y, z] = sum over c, i, j of x[n, c, y * stride + i * dilation - padding, ...] "
      "w[o, c, i, j]; output sizes are rounded down.";
  conv.inputs = {{"x"}, {"w"}};
  conv.attributes = conv_attributes();
  conv.infer = infer_conv2d;
  conv.kernel = conv2d_kernel;
  conv.cost = conv2d_cost;
  ops.add(std::move(conv));

  OpRecord fused;
  fused.name = "conv2d_fused";
  fused.doc =
      "conv2d(x, w) followed by a tile program (ops/fusion/tile_program.h), in which %0 is the "
      "result of conv2d. Other inputs of the program have the shape of this result, one element "
      "per channel, or a single element. Returns the same bits as computing conv2d and the steps "
      "separately.";
  fused.inputs = {{"x"}, {"w"}};
  for (InputSpec& operand : epilogue_inputs()) fused.inputs.push_back(std::move(operand));
  fused.outputs = epilogue_outputs();
  fused.attributes = conv_attributes();
  fused.attributes.push_back({"program", std::string(), true});
  fused.infer = infer_fused;
  fused.kernel = conv2d_fused_kernel;
  fused.cost = fused_cost;
  fused.gradient = Gradient::none;
  fused.no_gradient_reason = "created after differentiation; differentiate the unfused ops";
  ops.add(std::move(fused));

  OpRecord input_grad;
  input_grad.name = "conv2d_input_grad";
  input_grad.doc =
      "The adjoint of conv2d with respect to x, which has `height` x `width` "
      "pixels.";
  input_grad.inputs = {{"g"}, {"w"}};
  input_grad.attributes = conv_attributes();
  input_grad.attributes.push_back({"height", Dim(1), true});
  input_grad.attributes.push_back({"width", Dim(1), true});
  input_grad.infer = infer_input_grad;
  input_grad.kernel = conv2d_input_grad_kernel;
  input_grad.cost = input_grad_cost;
  ops.add(std::move(input_grad));

  OpRecord weight_grad;
  weight_grad.name = "conv2d_weight_grad";
  weight_grad.doc =
      "The adjoint of conv2d with respect to w, whose height and width are "
      "`kernel`.";
  weight_grad.inputs = {{"g"}, {"x"}};
  weight_grad.attributes = conv_attributes();
  weight_grad.attributes.push_back({"kernel", Ints{1, 1}, true});
  weight_grad.infer = infer_weight_grad;
  weight_grad.kernel = conv2d_weight_grad_kernel;
  weight_grad.cost = weight_grad_cost;
  ops.add(std::move(weight_grad));
}

}  // namespace weft
