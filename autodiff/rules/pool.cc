#include "weft/autodiff/rule.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/shape.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

// Adds each window's cotangent to the position of its maximum. Overlapping windows may have their
// maximum at the same position.
std::vector<Value> max_pool2d_gradient(const GradientContext& c) {
  if (!c.has_cotangent(0)) return {Value()};
  const Shape &x = c.input(0).shape(), &out = c.output(0).shape();
  const Shape planes{x[0], x[1], x[2] * x[3]}, windows{out[0], out[1], out[2] * out[3]};
  const Value zero = zeros(c.graph(), c.input(0).dtype(), planes);
  const Value dx =
      scatter_add(zero, reshape(c.output(1), windows), reshape(c.cotangent(), windows), 2);
  return {reshape(dx, x)};
}

std::vector<Value> avg_pool2d_gradient(const GradientContext& c) {
  Attributes attributes = c.attributes();
  attributes.set("height", c.input(0).shape()[2]);
  attributes.set("width", c.input(0).shape()[3]);
  return {c.graph().apply("avg_pool2d_grad", {c.cotangent()}, std::move(attributes)).output(0)};
}

std::vector<Value> avg_pool2d_grad_gradient(const GradientContext& c) {
  Attributes attributes;
  for (const char* name : {"kernel", "stride", "padding"}) {
    attributes.set(name, *c.attributes().find(name));
  }
  return {c.graph().apply("avg_pool2d", {c.cotangent()}, std::move(attributes)).output(0)};
}

}  // namespace

void PoolOps::add(RuleSet& rules) {
  rules.add("max_pool2d", max_pool2d_gradient);
  rules.add("avg_pool2d", avg_pool2d_gradient);
  rules.add("avg_pool2d_grad", avg_pool2d_grad_gradient);
}

}  // namespace weft
