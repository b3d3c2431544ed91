// Gradients of reductions and of linear_recurrence, and definitions of mean and logsumexp.
#include <algorithm>

#include "weft/autodiff/rule.h"
#include "weft/graph/functions/recurrence.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

/// `of` is a node or the context of its gradient.
template <class NodeOrContext>
std::vector<int> axes_of(const NodeOrContext& of) {
  const auto& axes = of.attributes().integers("axes");
  return {axes.begin(), axes.end()};
}

/// Reshapes a value of the output's shape so that the reduced axes are present with size 1.
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

// Tied elements share the gradient equally.
std::vector<Value> extreme_rule(const GradientContext& c) {
  const Value x = c.input(0);
  const Value at = apply_binary("equal", x, keep(c, c.output()));
  const Value mask = c.graph().apply("cast", {at}, {{"dtype", x.dtype()}}).output(0);
  const Value ties = sum(mask, axes_of(c), true);
  return {apply_binary("mul", mask, apply_binary("div", keep(c, c.cotangent()), ties))};
}

/// Shifts x along the last axis by one position towards the end (`by` = 1) or the front (-1), and
/// fills the vacated position with `value`. The axis may be empty.
Value moved(const Value& x, int by, double value) {
  std::vector<std::pair<Dim, Dim>> pads(static_cast<std::size_t>(x.rank()), {0, 0});
  pads.back() = by > 0 ? std::pair<Dim, Dim>{1, 0} : std::pair<Dim, Dim>{0, 1};
  const Dim first = by > 0 ? 0 : 1;
  const Dim end = x.size(-1) + first;
  return slice(pad(x, pads, {.value = value}), x.rank() - 1, {first, end});
}

/// Returns, for each element, the product of all other elements along the last axis: the product of
/// the elements before it times the product of the elements after it. Dividing the total product
/// instead would fail for zeros.
Value products_of_others(const Value& x) {
  const Dim n = x.size(-1);
  if (n.is_constant() && n.constant() <= 1) return ones_like(x);
  const int last = x.rank() - 1;
  const auto running = [&](bool reverse) {
    // out[0] = b[0] = 1; out[i] = x[i - 1] * out[i - 1].
    const Value places = iota(x.graph(), Shape{n}, 0);
    const Value first = reverse ? apply_binary("equal", places, dim_value(x.graph(), n - 1))
                                : apply_binary("equal", places, 0);
    const Value b =
        broadcast_to(x.graph().apply("cast", {first}, {{"dtype", x.dtype()}}).output(0), x.shape());
    return linear_recurrence(moved(x, reverse ? -1 : 1, 1), b, last, {.reverse = reverse});
  };
  return apply_binary("mul", running(false), running(true));
}

std::vector<Value> prod_rule(const GradientContext& c) {
  const Value x = c.input(0);
  const auto axes = axes_of(c);
  if (axes.empty()) return {c.cotangent()};
  // Move the reduced axes to the end and merge them.
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

// The gradient is g * exp(x - out) / sum(exp(x - out)). The sum is 1 apart from the rounding of
// out, which would be an error of all weights if the elements have a large common offset.
std::vector<Value> logsumexp_rule(const GradientContext& c) {
  const Value x = c.input(0), out = keep(c, c.output());
  const auto where = [&](Value condition, Value a, double b) {
    return c.graph().apply("where", {condition, a, c.graph().scalar(x.dtype(), b)}).output(0);
  };
  // If all elements are -inf, compute exp(-inf - 0) = 0 instead of exp(-inf + inf), which is NaN.
  const Value finite = apply_unary("isfinite", out);
  const Value shift = c.graph().apply("stop_gradient", {where(finite, out, 0)}).output(0);
  const Value weights = apply_unary("exp", apply_binary("sub", x, shift));
  const Value total = where(finite, sum(weights, axes_of(c), true), 1);
  return {apply_binary("mul", keep(c, c.cotangent()), apply_binary("div", weights, total))};
}

std::vector<Value> cumsum_rule(const GradientContext& c) {
  return {cumsum(
      c.cotangent(), static_cast<int>(c.attributes().integer("axis")),
      {.exclusive = c.attributes().flag("exclusive"), .reverse = !c.attributes().flag("reverse")})};
}

// For h[i] = a[i] h[i-1] + b[i], the gradient with respect to h[i] is d[i] = g[i] + a[i+1] d[i+1],
// a recurrence in the opposite direction. The gradient of a[i] is d[i] h[i-1], and the gradient of
// b[i] is d[i].
std::vector<Value> linear_recurrence_rule(const GradientContext& c) {
  const int axis = static_cast<int>(c.attributes().integer("axis"));
  const bool reverse = c.attributes().flag("reverse");
  const auto along_last = [&](const Value& v) { return transpose(v, axis, -1); };
  const Value a = along_last(c.input(0)), g = along_last(c.cotangent());
  const int last = a.rank() - 1, towards_end = reverse ? -1 : 1;
  const Value d = linear_recurrence(moved(a, -towards_end, 0), g, last, {.reverse = !reverse});
  const Value before = moved(along_last(c.output()), towards_end, 0);
  return {c.needs(0) ? along_last(apply_binary("mul", d, before)) : Value(),
          c.needs(1) ? along_last(d) : Value()};
}

// -- Definitions ----------------------------------------------------------------------------------

// mean(x) = sum(x) / n.
std::vector<Value> decompose_mean(const Node& node, const std::vector<Value>& in, Graph& graph) {
  const Value x = in[0];
  const auto axes = axes_of(node);
  Dim count = 1;
  for (const int axis : axes) count *= x.shape()[axis];
  const Value total = sum(x, axes, node.attributes().flag("keepdims"));
  return {apply_binary("div", total, dim_value(graph, count, x.dtype()))};
}

// logsumexp(x) = m + ln(sum(exp(x - m))), where m = max(x), or 0 if the maximum is not finite.
std::vector<Value> decompose_logsumexp(const Node& node, const std::vector<Value>& in,
                                       Graph& graph) {
  const Value x = in[0];
  const auto axes = axes_of(node);
  const Value top = graph.apply("stop_gradient", {max(x, axes, true)}).output(0);
  const Value zero = graph.scalar(x.dtype(), 0);
  const Value shift = graph.apply("where", {apply_unary("isfinite", top), top, zero}).output(0);
  const Value scaled = sum(apply_unary("exp", apply_binary("sub", x, shift)), axes, true);
  const Value out = apply_binary("add", shift, apply_unary("log", scaled));
  if (node.attributes().flag("keepdims")) return {out};
  return {squeeze(out, axes)};
}

}  // namespace

void ReduceOps::add(RuleSet& rules) {
  rules.add("sum", sum_rule);
  rules.add("mean", mean_rule);
  rules.add("max", extreme_rule);
  rules.add("min", extreme_rule);
  rules.add("prod", prod_rule);
  rules.add("logsumexp", logsumexp_rule);
  rules.add("cumsum", cumsum_rule);
  rules.add("linear_recurrence", linear_recurrence_rule);
  rules.define("mean", decompose_mean);
  rules.define("logsumexp", decompose_logsumexp);
}

}  // namespace weft
