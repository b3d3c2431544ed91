// Gradients of conv2d and of its two gradient ops. Each of the three ops is linear in both
// operands: <conv2d(x, w), g> = <input_grad(g, w), x> = <weight_grad(g, x), w>. The gradients of
// each op are therefore given by the other two ops.
#include "weft/autodiff/rule.h"

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

}  // namespace

void add_conv_rules(RuleSet& rules) {
  rules.add("conv2d", conv2d_gradient);
  rules.add("conv2d_input_grad", input_grad_gradient);
  rules.add("conv2d_weight_grad", weight_grad_gradient);
}

}  // namespace weft
