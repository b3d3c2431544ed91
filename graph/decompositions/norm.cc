// layer_norm, rms_norm and their gradients in primitive ops.
#include "weft/graph/decompositions/decomposition.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

using Values = std::vector<Value>;

Value operand(const Values& in, std::size_t i) { return i < in.size() ? in[i] : Value(); }

/// Returns the axes [begin, end).
Axes span(int begin, int end) {
  std::vector<int> axes;
  for (int i = begin; i < end; ++i) axes.push_back(i);
  return axes;
}

/// Removes the normalised axes, which have size 1, from a statistic.
Value drop(const Value& statistic, int first) {
  const auto& dims = statistic.shape().dims();
  return reshape(statistic, Shape(std::vector<Dim>(dims.begin(), dims.begin() + first)));
}

/// Appends the normalised axes, with size 1, to a statistic: the inverse of drop().
Value restore(const Value& statistic, int axes) {
  std::vector<Dim> dims = statistic.shape().dims();
  dims.insert(dims.end(), static_cast<std::size_t>(axes), Dim(1));
  return reshape(statistic, Shape(std::move(dims)));
}

Values decompose_layer_norm(const Node& node, const Values& in, Graph&) {
  const Value x = in[0], gain = operand(in, 1), bias = operand(in, 2);
  const int first = x.rank() - static_cast<int>(node.attributes().integer("axes"));
  const Axes axes = span(first, x.rank());
  const Value average = mean(x, axes, true), centred = x - average;
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
  const Value rstd = restore(row_rstd, axes);
  const Value xhat = (average.defined() ? x - restore(average, axes) : x) * rstd;
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

void add_norm_decompositions(DecompositionSet& set) {
  set.add("layer_norm", decompose_layer_norm);
  set.add("layer_norm_grad", decompose_layer_norm_grad);
  set.add("rms_norm", decompose_rms_norm);
  set.add("rms_norm_grad", decompose_rms_norm_grad);
}

}  // namespace weft
