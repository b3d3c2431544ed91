#include "weft/graph/functions/reduce.h"

#include <algorithm>

#include "weft/autodiff/rule.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

std::vector<int> axes_of(const GradientContext& c) {
  const auto& axes = c.attributes().integers("axes");
  return {axes.begin(), axes.end()};
}

/// A value of the output's shape with the reduced axes put back as size 1.
Value keep(const GradientContext& c, const Value& reduced) {
  if (c.attributes().flag("keepdims")) return reduced;
  Shape shape = c.input(0).shape();
  for (const int axis : axes_of(c)) shape[axis] = 1;
  return reshape(reduced, shape);
}

Value spread(const GradientContext& c, const Value& kept) {
  return broadcast_to(kept, c.input(0).shape());
}

std::vector<Value> sum_rule(const GradientContext& c) {
  return {spread(c, keep(c, c.cotangent()))};
}

std::vector<Value> mean_rule(const GradientContext& c) {
  Dim count = 1;
  for (const int axis : axes_of(c)) count *= c.input(0).shape()[axis];
  const Value g = keep(c, c.cotangent());
  const Value share = count.is_constant()
                          ? apply_binary("div", g, static_cast<double>(count.constant()))
                          : apply_binary("div", g, dim_value(c.graph(), count, g.dtype()));
  return {spread(c, share)};
}

// Elements that tie share the gradient equally.
std::vector<Value> extreme_rule(const GradientContext& c) {
  const Value x = c.input(0);
  const Value at = apply_binary("equal", x, keep(c, c.output()));
  const Value mask = c.graph().apply("cast", {at}, {{"dtype", x.dtype()}}).output(0);
  const Value ties = sum(mask, axes_of(c), true);
  return {apply_binary("mul", mask, apply_binary("div", keep(c, c.cotangent()), ties))};
}

/// out[..., i] = x[..., i - by], 1 where that is before the first, along the last axis; by < 0:
/// mirrored.
Value shifted(const Value& x, std::int64_t by, std::int64_t n) {
  const int last = x.rank() - 1;
  std::vector<std::pair<Dim, Dim>> pads(static_cast<std::size_t>(x.rank()), {0, 0});
  if (by > 0) {
    pads.back() = {by, 0};
    return pad(slice(x, last, {0, n - by}), pads, {.value = 1});
  }
  pads.back() = {0, -by};
  return pad(slice(x, last, {-by, n}), pads, {.value = 1});
}

/// Products of all elements before (direction 1) or after (-1) each, along the last axis of n:
/// doubling the reach in every step (Hillis and Steele 1986), so that no division meets a zero.
Value exclusive_products(const Value& x, std::int64_t n, int direction) {
  Value out = shifted(x, direction, n);
  for (std::int64_t reach = 1; reach < n; reach *= 2) {
    out = apply_binary("mul", out, shifted(out, direction * reach, n));
  }
  return out;
}

/// Products of all other elements along the last axis.
Value products_of_others(const Value& x) {
  Graph& graph = x.graph();
  const Dim n = x.size(-1);
  if (n.is_constant()) {
    const std::int64_t count = n.constant();
    if (count <= 1) return ones_like(x);
    return apply_binary("mul", exclusive_products(x, count, 1), exclusive_products(x, count, -1));
  }
  // The number of doubling steps is unknown: each row of a square multiplies all but one.
  const Value itself = apply_binary("equal", iota(graph, {n, 1}, 0), iota(graph, {1, n}, 1));
  const Value others =
      graph.apply("where", {itself, graph.scalar(x.dtype(), 1), unsqueeze(x, -2)}).output(0);
  return prod(others, -1);
}

std::vector<Value> prod_rule(const GradientContext& c) {
  const Value x = c.input(0);
  const auto axes = axes_of(c);
  if (axes.empty()) return {c.cotangent()};
  // Reduced axes last, as one.
  std::vector<int> order;
  Shape kept, moved;
  Dim count = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) {
      order.push_back(i);
      kept.push_back(x.shape()[i]);
    }
  }
  moved = kept;
  for (const int axis : axes) {
    order.push_back(axis);
    moved.push_back(x.shape()[axis]);
    count *= x.shape()[axis];
  }
  kept.push_back(count);
  std::vector<int> inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    inverse[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  }
  const Value others = products_of_others(reshape(permute(x, order), kept));
  return {apply_binary("mul", keep(c, c.cotangent()), permute(reshape(others, moved), inverse))};
}

std::vector<Value> logsumexp_rule(const GradientContext& c) {
  const Value x = c.input(0), out = keep(c, c.output());
  // Where all are -inf, exp(-inf - 0) = 0 instead of exp(-inf + inf).
  const Value finite = apply_unary("isfinite", out);
  const Value shift =
      c.graph().apply("where", {finite, out, c.graph().scalar(x.dtype(), 0)}).output(0);
  const Value weights = apply_unary("exp", apply_binary("sub", x, shift));
  return {apply_binary("mul", keep(c, c.cotangent()), weights)};
}

std::vector<Value> cumsum_rule(const GradientContext& c) {
  return {cumsum(
      c.cotangent(), static_cast<int>(c.attributes().integer("axis")),
      {.exclusive = c.attributes().flag("exclusive"), .reverse = !c.attributes().flag("reverse")})};
}

}  // namespace

void add_reduce_rules(RuleSet& rules) {
  rules.add("sum", sum_rule);
  rules.add("mean", mean_rule);
  rules.add("max", extreme_rule);
  rules.add("min", extreme_rule);
  rules.add("prod", prod_rule);
  rules.add("logsumexp", logsumexp_rule);
  rules.add("cumsum", cumsum_rule);
}

}  // namespace weft
