// Gradients of layer_norm and rms_norm: one fused op for the cotangent of the result, and formulas
// for the cotangents of the statistics, which second-order gradients need. Definitions of all four
// ops in primitive ops.
#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/recentred.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/ops/builtin.h"

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

/// Returns the axes [begin, end).
Axes span(int begin, int end) {
  std::vector<int> axes;
  for (int i = begin; i < end; ++i) axes.push_back(i);
  return axes;
}

/// Returns x minus the mean of each row, without the error of the rounded `average` (see
/// recentred()). If rounding does not explain the difference, `average` is not the mean of x.
Value deviations(const Value& x, const Value& average, int axes) {
  const Value given = per_row(average, axes), d = x - given;
  const Value rest = stop_gradient(mean(d, span(x.rank() - axes, x.rank()), true));
  const double rounding = x.dtype() == DType::f32 ? 0x1p-15 : 0x1p-44;
  return d - where(abs(rest) <= abs(given) * rounding, rest, 0);
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
    const Value centred = deviations(x, mean, axes);
    result[0] = plus(result[0], from_rstd(c.cotangent(2), rstd, centred, axes));
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

// -- Definitions ----------------------------------------------------------------------------------

using Values = std::vector<Value>;

Value operand(const Values& in, std::size_t i) { return i < in.size() ? in[i] : Value(); }

/// Removes the normalised axes, which have size 1, from a statistic: the inverse of per_row().
Value drop(const Value& statistic, int first) {
  const auto& dims = statistic.shape().dims();
  return reshape(statistic, Shape(std::vector<Dim>(dims.begin(), dims.begin() + first)));
}

Values decompose_layer_norm(const Node& node, const Values& in, Graph&) {
  const Value x = in[0], gain = operand(in, 1), bias = operand(in, 2);
  const int first = x.rank() - static_cast<int>(node.attributes().integer("axes"));
  const Axes axes = span(first, x.rank());
  const Value average = mean(x, axes, true), centred = recentred(x - average, axes);
  const Value rstd = rsqrt(mean(square(centred), axes, true) + node.attributes().real("eps"));
  Value y = centred * rstd;
  if (gain.defined()) y = y * gain;
  if (bias.defined()) y = y + bias;
  return {y, drop(average, first), drop(rstd, first)};
}

Values decompose_rms_norm(const Node& node, const Values& in, Graph&) {
  const Value x = in[0], gain = operand(in, 1);
  const Value rstd = rsqrt(mean(square(x), -1, true) + node.attributes().real("eps"));
  Value y = x * rstd;
  if (gain.defined()) y = y * gain;
  return {y, drop(rstd, x.rank() - 1)};
}

/// Returns dx, dgain and dbias. `average` is undefined for RMS norm.
Values norm_grad(const Value& g, const Value& x, const Value& gain, const Value& average,
                 const Value& row_rstd, int axes) {
  const int first = x.rank() - axes;
  const Axes inner = span(first, x.rank()), outer = span(0, first);
  const Value rstd = per_row(row_rstd, axes);
  const Value xhat = (average.defined() ? deviations(x, average, axes) : x) * rstd;
  const Value h = gain.defined() ? g * gain : g;
  Value d = h - xhat * mean(h * xhat, inner, true);
  if (average.defined()) d = d - mean(h, inner, true);
  const Value dgain = gain.defined() ? sum(g * xhat, outer) : Value();
  return {rstd * d, dgain, sum(g, outer)};
}

Values decompose_layer_norm_grad(const Node& node, const Values& in, Graph&) {
  return norm_grad(in[0], in[1], in[2], in[3], in[4],
                   static_cast<int>(node.attributes().integer("axes")));
}

Values decompose_rms_norm_grad(const Node&, const Values& in, Graph&) {
  Values result = norm_grad(in[0], in[1], in[2], Value(), in[3], 1);
  result.pop_back();
  return result;
}

}  // namespace

void NormOps::add(RuleSet& rules) {
  rules.add("layer_norm", gradient_layer_norm);
  rules.add("rms_norm", gradient_rms_norm);
  rules.define("layer_norm", decompose_layer_norm);
  rules.define("layer_norm_grad", decompose_layer_norm_grad);
  rules.define("rms_norm", decompose_rms_norm);
  rules.define("rms_norm_grad", decompose_rms_norm_grad);
}

}  // namespace weft
