// Gradients of layer_norm and rms_norm: one fused op for the cotangent of the result, and formulas
// for the cotangents of the statistics, which second-order gradients need.
#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

/// Appends the normalised axes to a per-row statistic, with size 1.
Value per_row(const Value& statistic, int axes) {
  std::vector<Dim> dims = statistic.shape().dims();
  dims.insert(dims.end(), static_cast<std::size_t>(axes), Dim(1));
  return reshape(statistic, Shape(std::move(dims)));
}

/// Returns statistic / (number of elements in a row).
Value per_element(const Value& statistic, const Value& x, int axes) {
  Dim count = 1;
  for (int axis = x.rank() - axes; axis < x.rank(); ++axis) count *= x.shape()[axis];
  if (count.is_constant()) return statistic / static_cast<double>(count.constant());
  return statistic / dim_value(x.graph(), count, x.dtype());
}

Value plus(const Value& a, const Value& b) { return a.defined() ? a + b : b; }

/// Gradient through the rstd of each row: d rstd / dx = -rstd^3 (x - mean) / n.
Value from_rstd(const Value& g, const Value& rstd, const Value& centred, int axes) {
  const Value factor = per_element(g * (rstd * rstd * rstd), centred, axes);
  return -(per_row(factor, axes) * centred);
}

std::vector<Value> gradient_layer_norm(const GradientContext& c) {
  const int axes = static_cast<int>(c.attributes().integer("axes"));
  const Value x = c.input(0), mean = c.output(1), rstd = c.output(2);
  std::vector<Value> result(3);
  if (c.has_cotangent(0)) {
    Node& node = c.graph().apply("layer_norm_grad", {c.cotangent(), x, c.input(1), mean, rstd},
                                 {{"axes", std::int64_t{axes}}});
    result = {node.output(0), node.output(1), node.output(2)};
    if (!c.input(1).defined()) result[1] = Value();
  }
  if (c.has_cotangent(1)) {
    const Value rows = per_row(per_element(c.cotangent(1), x, axes), axes);
    result[0] = plus(result[0], broadcast_to(rows, x.shape()));
  }
  if (c.has_cotangent(2)) {
    result[0] = plus(result[0], from_rstd(c.cotangent(2), rstd, x - per_row(mean, axes), axes));
  }
  return result;
}

std::vector<Value> gradient_rms_norm(const GradientContext& c) {
  const Value x = c.input(0), rstd = c.output(1);
  std::vector<Value> result(2);
  if (c.has_cotangent(0)) {
    Node& node = c.graph().apply("rms_norm_grad", {c.cotangent(), x, c.input(1), rstd});
    result = {node.output(0), c.input(1).defined() ? node.output(1) : Value()};
  }
  if (c.has_cotangent(1)) result[0] = plus(result[0], from_rstd(c.cotangent(1), rstd, x, 1));
  return result;
}

}  // namespace

void add_norm_rules(RuleSet& rules) {
  rules.add("layer_norm", gradient_layer_norm);
  rules.add("rms_norm", gradient_rms_norm);
}

}  // namespace weft
