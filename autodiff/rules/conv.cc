// Gradients of conv2d and of its two gradient ops. Each of the three ops is linear in both
// operands: <conv2d(x, w), g> = <input_grad(g, w), x> = <weight_grad(g, x), w>. The gradients of
// each op are therefore given by the other two ops. The definitions of conv2d and avg_pool2d are
// sums over the taps of the kernel: each tap reads a strided slice of the padded image.
#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/shape.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

Attributes common(const GradientContext& c) {
  Attributes result;
  for (const char* name : {"stride", "padding", "dilation", "groups"}) {
    result.set(name, *c.attributes().find(name));
  }
  return result;
}

Value conv(const GradientContext& c, Value x, Value w) {
  return c.graph().apply("conv2d", {x, w}, common(c)).output(0);
}

// The adjoint of conv2d with respect to an operand x of shape `x`.
Value input_grad(const GradientContext& c, Value g, Value w, const Shape& x) {
  Attributes attributes = common(c);
  attributes.set("height", x[2]);
  attributes.set("width", x[3]);
  return c.graph().apply("conv2d_input_grad", {g, w}, std::move(attributes)).output(0);
}

// The adjoint of conv2d with respect to weights of shape `w`.
Value weight_grad(const GradientContext& c, Value g, Value x, const Shape& w) {
  Attributes attributes = common(c);
  attributes.set("kernel", std::vector<std::int64_t>{w[2].constant(), w[3].constant()});
  return c.graph().apply("conv2d_weight_grad", {g, x}, std::move(attributes)).output(0);
}

std::vector<Value> conv2d_gradient(const GradientContext& c) {
  const Value x = c.input(0), w = c.input(1), g = c.cotangent();
  return {c.needs(0) ? input_grad(c, g, w, x.shape()) : Value(),
          c.needs(1) ? weight_grad(c, g, x, w.shape()) : Value()};
}

std::vector<Value> input_grad_gradient(const GradientContext& c) {
  const Value g = c.input(0), w = c.input(1), dx = c.cotangent();
  return {c.needs(0) ? conv(c, dx, w) : Value(),
          c.needs(1) ? weight_grad(c, g, dx, w.shape()) : Value()};
}

std::vector<Value> weight_grad_gradient(const GradientContext& c) {
  const Value g = c.input(0), x = c.input(1), dw = c.cotangent();
  return {c.needs(0) ? conv(c, x, dw) : Value(),
          c.needs(1) ? input_grad(c, g, dw, x.shape()) : Value()};
}

// -- Definitions ----------------------------------------------------------------------------------

using Ints = std::vector<std::int64_t>;

Value padded(Value x, const Ints& padding) {
  return pad(x, {{0, 0}, {0, 0}, {padding[0], padding[0]}, {padding[1], padding[1]}});
}

// Returns the image elements that the kernel tap at (y, x) reads for all output positions,
// [N, C, OH, OW].
Value tap_view(Value image, const Shape& out, std::int64_t y, std::int64_t x, const Ints& stride) {
  const Shape starts{Dim(0), Dim(0), Dim(y), Dim(x)};
  const Shape sizes{image.shape()[0], image.shape()[1], out[2], out[3]};
  return image.graph()
      .apply("slice", {image},
             {{"starts", starts}, {"sizes", sizes}, {"steps", Ints{1, 1, stride[0], stride[1]}}})
      .output(0);
}

std::vector<Value> decompose_conv2d(const Node& node, const std::vector<Value>& in, Graph&) {
  const Attributes& a = node.attributes();
  const Ints &stride = a.integers("stride"), &dilation = a.integers("dilation");
  const Dim groups = a.integer("groups");
  const Value image = padded(in[0], a.integers("padding")), w = in[1];
  const Shape& out = node.type(0).shape;
  const Shape per_group{groups, exact_div(w.shape()[0], groups), w.shape()[1]};
  const Shape patches{out[0], groups, w.shape()[1], out[2] * out[3]};
  Value total;
  for (std::int64_t y = 0; y < w.shape()[2].constant(); ++y) {
    for (std::int64_t x = 0; x < w.shape()[3].constant(); ++x) {
      const Value seen = tap_view(image, out, y * dilation[0], x * dilation[1], stride);
      const Value weights = reshape(select(select(w, 3, Dim(x)), 2, Dim(y)), per_group);
      const Value part = matmul(weights, reshape(seen, patches));
      total = total.defined() ? total + part : part;
    }
  }
  return {reshape(total, out)};
}

std::vector<Value> decompose_avg_pool2d(const Node& node, const std::vector<Value>& in, Graph&) {
  const Attributes& a = node.attributes();
  const Ints& kernel = a.integers("kernel");
  const Value image = padded(in[0], a.integers("padding"));
  Value total;
  for (std::int64_t y = 0; y < kernel[0]; ++y) {
    for (std::int64_t x = 0; x < kernel[1]; ++x) {
      const Value seen = tap_view(image, node.type(0).shape, y, x, a.integers("stride"));
      total = total.defined() ? total + seen : seen;
    }
  }
  return {total / static_cast<double>(kernel[0] * kernel[1])};
}

}  // namespace

void ConvOps::add(RuleSet& rules) {
  rules.add("conv2d", conv2d_gradient);
  rules.add("conv2d_input_grad", input_grad_gradient);
  rules.add("conv2d_weight_grad", weight_grad_gradient);
  rules.define("conv2d", decompose_conv2d);
  rules.define("avg_pool2d", decompose_avg_pool2d);
}

}  // namespace weft
