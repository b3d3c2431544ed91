#include "weft/graph/functions/reduce.h"

#include "weft/graph/decompositions/decomposition.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

std::vector<int> axes_of(const Node& node) {
  const auto& axes = node.attributes().integers("axes");
  return {axes.begin(), axes.end()};
}

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

void add_reduce_decompositions(DecompositionSet& set) {
  set.add("mean", decompose_mean);
  set.add("logsumexp", decompose_logsumexp);
}

}  // namespace weft
