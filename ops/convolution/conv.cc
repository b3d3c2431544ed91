// Records and shape rules of conv2d and its two adjoints.
#include <fmt/format.h>

#include "weft/ops/builtin.h"
#include "weft/ops/convolution/conv_kernel.h"
#include "weft/ops/convolution/window.h"
#include "weft/ops/sample_data.h"
#include "weft/ops/samples.h"

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
Cost input_grad_cost(const KernelRequest& r) {
  return conv_cost(static_cast<double>(r.inputs[0].numel()), taps_of(r.inputs[1].sizes), r);
}
Cost weight_grad_cost(const KernelRequest& r) {
  return conv_cost(static_cast<double>(r.inputs[0].numel()), taps_of(r.outputs[0].sizes), r);
}

// One configuration of conv2d, from which the samples of all three ops are built.
struct Case {
  Sizes x, w;
  std::vector<std::int64_t> stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  std::int64_t groups = 1;

  std::int64_t out(int axis) const {
    const auto i = static_cast<std::size_t>(axis);
    return (x[i + 2] + 2 * padding[i] - dilation[i] * (w[i + 2] - 1) - 1) / stride[i] + 1;
  }
  Sizes g() const { return {x[0], w[0], out(0), out(1)}; }
  Attributes attributes() const {
    return {{"stride", stride}, {"padding", padding}, {"dilation", dilation}, {"groups", groups}};
  }
};

std::vector<Case> cases() {
  return {
      {{1, 1, 3, 3}, {1, 1, 2, 2}},
      {{2, 3, 4, 5}, {4, 3, 1, 1}},
      {{2, 2, 5, 4}, {3, 2, 3, 3}, {1, 1}, {1, 1}},
      {{1, 4, 6, 7}, {6, 2, 2, 3}, {2, 3}, {1, 2}, {1, 1}, 2},
      {{1, 3, 7, 6}, {3, 1, 3, 2}, {1, 2}, {2, 0}, {2, 3}, 3},
      {{2, 3, 4, 4}, {5, 3, 2, 2}, {2, 2}},
      {{0, 2, 3, 3}, {2, 2, 2, 2}},
      {{2, 0, 3, 3}, {2, 0, 2, 2}},
      {{1, 2, 3, 3}, {0, 2, 2, 2}},
  };
}

std::vector<OpSample> conv2d_samples() {
  std::vector<OpSample> samples;
  for (const Case& c : cases()) {
    samples.push_back({{sample_uniform(c.x, 31), sample_uniform(c.w, 32)}, c.attributes()});
  }
  return samples;
}

std::vector<OpSample> input_grad_samples() {
  std::vector<OpSample> samples;
  for (const Case& c : cases()) {
    Attributes attributes = c.attributes();
    attributes.set("height", Dim(c.x[2]));
    attributes.set("width", Dim(c.x[3]));
    samples.push_back({{sample_uniform(c.g(), 33), sample_uniform(c.w, 34)}, attributes});
  }
  return samples;
}

std::vector<OpSample> weight_grad_samples() {
  std::vector<OpSample> samples;
  for (const Case& c : cases()) {
    Attributes attributes = c.attributes();
    attributes.set("kernel", std::vector<std::int64_t>{c.w[2], c.w[3]});
    samples.push_back({{sample_uniform(c.g(), 35), sample_uniform(c.x, 36)}, attributes});
  }
  return samples;
}

using Ints = std::vector<std::int64_t>;
constexpr DType f32 = DType::f32;

std::vector<OpErrorSample> conv2d_errors() {
  const ValueType x{f32, {1, 4, 5, 6}}, w{f32, {6, 4, 3, 3}};
  return {
      {{x, {f32, {6, 3, 3, 3}}},
       {},
       "channels of x (axis 1) and of w (axis 1) times groups: 4 and 3 differ"},
      {{x, {f32, {5, 2, 3, 3}}},
       {{"groups", std::int64_t{2}}},
       "the number of output channels, 5, must be a multiple of groups, 2"},
      {{{f32, {4, 5, 6}}, w}, {}, "x [N, C, H, W] must have 4 axes, but f32[4, 5, 6] has 3"},
      {{x, {DType::f64, {6, 4, 3, 3}}}, {}, "different dtypes, f32 and f64"},
      {{x, {f32, {6, 4, 7, 3}}},
       {},
       "height: a kernel of size 7 with dilation 1 spans 7, but the padded input size is only 5 "
       "(padding 0)"},
      {{x, w},
       {{"stride", Ints{1, 0}}},
       "stride must be two integers of at least 1, but is [1, 0]"},
      {{x, w}, {{"padding", Ints{1}}}, "padding must be two integers of at least 0, but is [1]"},
      {{x, w},
       {{"padding", Ints{0, std::int64_t{1} << 62}}},
       "padding must be less than 2^31, but is [0, 4611686018427387904]"},
      {{x, w},
       {{"dilation", Ints{std::int64_t{1} << 33, 1}}},
       "dilation must be less than 2^31, but is [8589934592, 1]"},
      {{x, w}, {{"groups", std::int64_t{0}}}, "groups must be at least 1, but is 0"},
  };
}

std::vector<OpErrorSample> input_grad_errors() {
  const Attributes size{{"height", Dim(5)}, {"width", Dim(6)}};
  return {{{{f32, {1, 6, 3, 3}}, {f32, {6, 4, 3, 3}}},
           size,
           "g must have shape [1, 6, 3, 4], but has [1, 6, 3, 3]"},
          {{{f32, {1, 5, 3, 4}}, {f32, {6, 4, 3, 3}}},
           size,
           "output channels of g (axis 1) and of w (axis 0): 5 and 6 differ"}};
}

std::vector<OpErrorSample> weight_grad_errors() {
  const ValueType g{f32, {1, 6, 3, 4}}, x{f32, {1, 4, 5, 6}};
  return {{{g, {f32, {2, 4, 5, 6}}},
           {{"kernel", Ints{3, 3}}},
           "g must have shape [2, 6, 3, 4], but has [1, 6, 3, 4]"},
          {{g, x}, {{"kernel", Ints{3}}}, "kernel must be two integers of at least 1, but is [3]"}};
}

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

void ConvOps::add(OpSamples& all) {
  all.add("conv2d", conv2d_samples, conv2d_errors);
  all.add("conv2d_input_grad", input_grad_samples, input_grad_errors);
  all.add("conv2d_weight_grad", weight_grad_samples, weight_grad_errors);
}

}  // namespace weft
