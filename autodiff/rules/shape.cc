#include "weft/graph/functions/shape.h"
#include "weft/ops/builtin.h"

#include "weft/autodiff/narrow.h"
#include "weft/autodiff/rule.h"
#include "weft/graph/functions/reduce.h"

namespace weft {
namespace {

std::vector<Value> reshape_rule(const GradientContext& c) {
  return {reshape(c.cotangent(), c.input(0).shape())};
}

std::vector<Value> permute_rule(const GradientContext& c) {
  const auto& order = c.attributes().integers("order");
  std::vector<int> inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    inverse[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  }
  return {permute(c.cotangent(), inverse)};
}

std::vector<Value> broadcast_to_rule(const GradientContext& c) {
  const Shape &from = c.input(0).shape(), &to = c.output().shape();
  const int extra = to.rank() - from.rank();
  std::vector<int> repeated;
  for (int i = 0; i < to.rank(); ++i) {
    if (i < extra || (from[i - extra] == Dim(1) && to[i] != Dim(1))) repeated.push_back(i);
  }
  if (repeated.empty()) return {c.cotangent()};
  return {reshape(sum(widened(c.cotangent()), repeated), from)};
}

std::vector<Value> slice_rule(const GradientContext& c) {
  return {c.graph()
              .apply("unslice", {widened(c.cotangent())},
                     {{"shape", c.input(0).shape()},
                      {"starts", c.attributes().shape("starts")},
                      {"steps", c.attributes().integers("steps")}})
              .output(0)};
}

std::vector<Value> unslice_rule(const GradientContext& c) {
  return {c.graph()
              .apply("slice", {c.cotangent()},
                     {{"starts", c.attributes().shape("starts")},
                      {"sizes", c.input(0).shape()},
                      {"steps", c.attributes().integers("steps")}})
              .output(0)};
}

std::vector<Value> slice_add_rule(const GradientContext& c) {
  const Value g = c.cotangent();
  if (!c.needs(1)) return {g, Value()};
  return {c.needs(0) ? g : Value(), c.graph()
                                        .apply("slice", {g},
                                               {{"starts", c.attributes().shape("starts")},
                                                {"sizes", c.input(1).shape()},
                                                {"steps", c.attributes().integers("steps")}})
                                        .output(0)};
}

Value slice_of(const Value& x, const Shape& starts, const Shape& sizes) {
  const std::vector<std::int64_t> steps(static_cast<std::size_t>(x.rank()), 1);
  return x.graph()
      .apply("slice", {x}, {{"starts", starts}, {"sizes", sizes}, {"steps", steps}})
      .output(0);
}

std::vector<Value> concat_rule(const GradientContext& c) {
  const int axis = static_cast<int>(c.attributes().integer("axis"));
  std::vector<Value> gradients;
  Shape starts(std::vector<Dim>(static_cast<std::size_t>(c.cotangent().rank()), Dim(0)));
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    const Shape& part = c.input(i).shape();
    gradients.push_back(c.needs(i) ? slice_of(c.cotangent(), starts, part) : Value());
    starts[axis] += part[axis];
  }
  return gradients;
}

std::vector<Value> pad_rule(const GradientContext& c) {
  return {slice_of(c.cotangent(), c.attributes().shape("before"), c.input(0).shape())};
}

std::vector<Value> flip_rule(const GradientContext& c) {
  const auto& axes = c.attributes().integers("axes");
  return {flip(c.cotangent(), std::vector<int>(axes.begin(), axes.end()))};
}

}  // namespace

void ShapeOps::add(RuleSet& rules) {
  rules.add("reshape", reshape_rule);
  rules.add("permute", permute_rule);
  rules.add("broadcast_to", broadcast_to_rule);
  rules.add("slice", slice_rule);
  rules.add("unslice", unslice_rule);
  rules.add("slice_add", slice_add_rule);
  rules.add("concat", concat_rule);
  rules.add("pad", pad_rule);
  rules.add("flip", flip_rule);
}

}  // namespace weft
