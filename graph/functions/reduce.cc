#include "weft/graph/functions/reduce.h"

#include "weft/core/error.h"
#include "weft/core/option.h"
#include "weft/graph/functions/recentred.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

Value reduce(std::string_view op, const Arg& x, const Axes& axes, bool keepdims) {
  const Value v = x.value(op);
  Attributes attributes{{"axes", resolve_axes(axes, v, op, x.location())}, {"keepdims", keepdims}};
  return v.graph().apply(op, {v}, std::move(attributes), x.location()).output(0);
}

Value arg_reduce(std::string_view op, const Arg& x, std::optional<int> axis, bool keepdims) {
  const Value v = x.value(op);
  Graph& graph = v.graph();
  if (axis.has_value()) {
    const std::int64_t at = resolve_axis(*axis, v, op, x.location());
    return graph.apply(op, {v}, {{"axis", at}, {"keepdims", keepdims}}, x.location()).output(0);
  }
  const Graph::Frame frame(graph, op, x.location());
  const Value flat = reshape(v, {Dim(-1)});
  const Value position =
      graph.apply(op, {flat}, {{"axis", std::int64_t{0}}, {"keepdims", false}}, x.location())
          .output(0);
  if (!keepdims) return position;
  return reshape(position, Shape(std::vector<Dim>(static_cast<std::size_t>(v.rank()), Dim(1))));
}

Value variance(const Value& v, const Axes& axes, const VarOptions& options, SourceLocation loc) {
  const auto resolved = axes.resolve(v.rank());
  const std::string error = option_error("correction", options.correction, Allowed::finite);
  if (!error.empty()) v.graph().fail(ArgumentError(error), "var", {v}, loc);
  Dim count = 1;
  for (const std::int64_t axis : resolved) count *= v.shape()[static_cast<int>(axis)];
  const Value centred = recentred(apply_binary("sub", v, mean(v, axes, true)), axes);
  const Value total = sum(apply_unary("square", centred), axes, options.keepdims);
  if (count.is_constant()) {
    const double divisor = static_cast<double>(count.constant()) - options.correction;
    return apply_binary("div", total, divisor);
  }
  const Value n = dim_value(v.graph(), count, v.dtype());
  return apply_binary("div", total, apply_binary("sub", n, options.correction));
}

}  // namespace

Value sum(Arg x, const Axes& axes, bool keepdims) { return reduce("sum", x, axes, keepdims); }
Value mean(Arg x, const Axes& axes, bool keepdims) { return reduce("mean", x, axes, keepdims); }
Value max(Arg x, const Axes& axes, bool keepdims) { return reduce("max", x, axes, keepdims); }
Value min(Arg x, const Axes& axes, bool keepdims) { return reduce("min", x, axes, keepdims); }
Value prod(Arg x, const Axes& axes, bool keepdims) { return reduce("prod", x, axes, keepdims); }
Value logsumexp(Arg x, const Axes& axes, bool keepdims) {
  return reduce("logsumexp", x, axes, keepdims);
}
Value any(Arg x, const Axes& axes, bool keepdims) { return reduce("any", x, axes, keepdims); }
Value all(Arg x, const Axes& axes, bool keepdims) { return reduce("all", x, axes, keepdims); }

Value argmax(Arg x, std::optional<int> axis, bool keepdims) {
  return arg_reduce("argmax", x, axis, keepdims);
}
Value argmin(Arg x, std::optional<int> axis, bool keepdims) {
  return arg_reduce("argmin", x, axis, keepdims);
}

Value cumsum(Arg x, int axis, const CumsumOptions& options) {
  const Value v = x.value("cumsum");
  const std::int64_t at = resolve_axis(axis, v, "cumsum", x.location());
  return v.graph()
      .apply("cumsum", {v},
             {{"axis", at}, {"exclusive", options.exclusive}, {"reverse", options.reverse}},
             x.location())
      .output(0);
}

Value var(Arg x, const Axes& axes, const VarOptions& options) {
  const Value v = x.value("var");
  resolve_axes(axes, v, "var", x.location());
  const Graph::Frame frame(v.graph(), "var", x.location());
  return variance(v, axes, options, x.location());
}

Value stddev(Arg x, const Axes& axes, const VarOptions& options) {
  const Value v = x.value("stddev");
  resolve_axes(axes, v, "stddev", x.location());
  const Graph::Frame frame(v.graph(), "stddev", x.location());
  return apply_unary("sqrt", variance(v, axes, options, x.location()));
}

Value norm(Arg x, const Axes& axes, bool keepdims) {
  const Value v = x.value("norm");
  resolve_axes(axes, v, "norm", x.location());
  Graph& graph = v.graph();
  const Graph::Frame frame(graph, "norm", x.location());
  const Value squares = sum(apply_unary("square", v), axes, keepdims);
  // If the sum is 0, sqrt() is applied to 1 instead, so that the gradient is 0 and not 0 * inf.
  const Value zero = apply_binary("equal", squares, 0);
  const Value safe = graph.apply("where", {zero, graph.scalar(v.dtype(), 1), squares}).output(0);
  const Value root = apply_unary("sqrt", safe);
  return graph.apply("where", {zero, graph.scalar(v.dtype(), 0), root}).output(0);
}

Value sum_to(Value value, const Shape& shape) {
  Graph& graph = value.graph();
  const int extra = value.rank() - shape.rank();
  std::vector<std::int64_t> axes;
  for (int i = 0; i < value.rank(); ++i) {
    if (i < extra || (shape[i - extra] == Dim(1) && value.shape()[i] != Dim(1))) axes.push_back(i);
  }
  if (!axes.empty()) {
    value = graph.apply("sum", {value}, {{"axes", axes}, {"keepdims", true}}, {}).output(0);
  }
  if (value.shape() == shape) return value;
  return graph.apply("reshape", {value}, {{"shape", shape}}, {}).output(0);
}

}  // namespace weft
