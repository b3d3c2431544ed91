#include "weft/models/layers/dropout.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/random/random.h"

namespace weft {
namespace {

// Checks the arguments. Returns true if elements are dropped.
bool drops_elements(const Scope& scope, Value x, double rate, std::string_view layer,
                    SourceLocation loc) {
  scope.graph().check_owned(x, fmt::format("the operand of {}", layer), loc);
  if (!(rate >= 0 && rate < 1)) {
    scope.graph().fail(ArgumentError(fmt::format("rate must be in [0, 1), but is {}", rate)), layer,
                       {x}, loc);
  }
  if (!is_floating(x.dtype())) {
    scope.graph().fail(
        DTypeError(fmt::format("x must be floating-point, not {}", dtype_name(x.dtype()))), layer,
        {x}, loc);
  }
  return rate > 0 && scope.is_training(layer, loc);
}

// Drops all elements with the same index on the first `axes` axes together.
Value drop_slices(const Scope& scope, Value x, int axes, double rate, std::string_view layer,
                  SourceLocation loc) {
  const Graph::Frame frame(scope.graph(), layer, loc, scope.path());
  if (!drops_elements(scope, x, rate, layer, loc)) return x;
  if (x.rank() < axes) {
    scope.graph().fail(
        ShapeError(fmt::format("x must be {}, but is {}", axes == 1 ? "[N, ...]" : "[N, C, ...]",
                               x.type().str())),
        layer, {x}, loc);
  }
  Shape shape;
  for (int axis = 0; axis < x.rank(); ++axis) shape.push_back(axis < axes ? x.shape()[axis] : 1);
  // where() instead of x * mask, because dropped elements may be infinite.
  return where(bernoulli(scope.graph().key("dropout"), shape, 1 - rate), x / (1 - rate), 0.0);
}

}  // namespace

Value dropout(const Scope& scope, Value x, double rate, SourceLocation loc) {
  const Graph::Frame frame(scope.graph(), "dropout", loc, scope.path());
  if (!drops_elements(scope, x, rate, "dropout", loc)) return x;
  return dropout(Arg(x, loc), rate, x.graph().key("dropout"));
}

bool drops_out(const Scope& scope, double rate, SourceLocation loc) {
  return rate > 0 && scope.is_training("dropout", loc);
}

Value channel_dropout(const Scope& scope, Value x, double rate, SourceLocation loc) {
  return drop_slices(scope, x, 2, rate, "channel_dropout", loc);
}

Value alpha_dropout(const Scope& scope, Value x, double rate, SourceLocation loc) {
  const Graph::Frame frame(scope.graph(), "alpha_dropout", loc, scope.path());
  if (!drops_elements(scope, x, rate, "alpha_dropout", loc)) return x;
  // selu(-infinity) = -scale alpha.
  constexpr double kLowest = -1.0507009873554804934193349852946 * 1.6732632423543772848170429916717;
  const double kept = 1 - rate;
  const double scale = 1 / std::sqrt(kept + kLowest * kLowest * kept * rate);
  const Value mask = bernoulli(scope.graph().key("dropout"), x.shape(), kept);
  return where(mask, x, kLowest) * scale - scale * rate * kLowest;
}

Value drop_path(const Scope& scope, Value x, double rate, SourceLocation loc) {
  return drop_slices(scope, x, 1, rate, "drop_path", loc);
}

Value residual(const Scope& scope, Value shortcut, Value branch, const ResidualOptions& options,
               SourceLocation loc) {
  Graph& graph = scope.graph();
  const Graph::Frame frame(graph, "residual", loc, scope.path());
  graph.check_owned(shortcut, "the shortcut of residual", loc);
  graph.check_owned(branch, "the branch of residual", loc);
  bool same = shortcut.rank() == branch.rank();
  for (int axis = 0; same && axis < shortcut.rank(); ++axis)
    same = graph.facts().equal(shortcut.size(axis), branch.size(axis));
  if (!same) {
    graph.fail(
        ShapeError(fmt::format("the shortcut, {}, and the branch, {}, must have the same shape: "
                               "apply a layer to the shortcut, too",
                               shortcut.type().str(), branch.type().str())),
        "residual", {shortcut, branch}, loc);
  }
  return shortcut +
         (options.drop_path == 0 ? branch : drop_path(scope, branch, options.drop_path, loc));
}

}  // namespace weft
