#include "weft/graph/functions/norm.h"

#include <fmt/format.h>

#include <limits>

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/axes.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

Value along_axis(std::string_view op, const Arg& x, int axis) {
  const Value v = x.value(op);
  const std::int64_t at = resolve_axis(axis, v, op, x.location());
  return v.graph().apply(op, {v}, {{"axis", at}}, x.location()).output(0);
}

}  // namespace

Value softmax(Arg x, int axis) { return along_axis("softmax", x, axis); }
Value log_softmax(Arg x, int axis) { return along_axis("log_softmax", x, axis); }

Value masked_softmax(Arg x, Arg mask, int axis) {
  const Value v = x.value("masked_softmax"), m = mask.value("masked_softmax");
  const Graph::Frame frame(v.graph(), "masked_softmax", x.location());
  // The lowest finite number and not -inf: a slice without any element stays finite.
  const double lowest = v.dtype() == DType::f64 ? std::numeric_limits<double>::lowest()
                                                : std::numeric_limits<float>::lowest();
  return where(m, softmax(where(m, v, lowest), axis), 0);
}

Value layer_norm(Arg x, OptionalArg gain, OptionalArg bias, const LayerNormOptions& options) {
  const Value v = x.value("layer_norm");
  return v.graph()
      .apply("layer_norm", {v, gain.value(), bias.value()},
             {{"axes", std::int64_t{options.axes}}, {"eps", options.eps}}, x.location())
      .output(0);
}

Value rms_norm(Arg x, OptionalArg gain, double eps) {
  const Value v = x.value("rms_norm");
  return v.graph().apply("rms_norm", {v, gain.value()}, {{"eps", eps}}, x.location()).output(0);
}

Value group_norm(Arg x, int groups, OptionalArg gain, OptionalArg bias, double eps) {
  const Value v = x.value("group_norm");
  Graph& graph = v.graph();
  const auto fail = [&](const Error& error) { graph.fail(error, "group_norm", {v}, x.location()); };
  if (v.rank() < 2) fail(ShapeError("x must be [N, C, ...]"));
  const Dim& channels = v.shape()[1];
  if (groups < 1 || !channels.is_constant() || channels.constant() % groups != 0) {
    fail(ShapeError(
        fmt::format("the channels of x (axis 1), {}, must be a constant multiple of groups, {}",
                    channels.str(), groups)));
  }
  const Graph::Frame frame(graph, "group_norm", x.location());
  Dim features = channels.constant() / groups;
  for (int axis = 2; axis < v.rank(); ++axis) features *= v.shape()[axis];
  const Value grouped = reshape(v, Shape{v.shape()[0], Dim(groups), features});
  Value y = reshape(layer_norm(grouped, {}, {}, {.eps = eps}), v.shape());
  std::vector<Dim> per_channel(static_cast<std::size_t>(v.rank() - 1), Dim(1));
  per_channel[0] = channels;
  if (gain.present()) y = y * reshape(gain.value(), Shape(per_channel));
  if (bias.present()) y = y + reshape(bias.value(), Shape(per_channel));
  return y;
}

}  // namespace weft
