#include "weft/models/layers/features.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {

namespace {

void check_floating(const Scope& scope, Value x, std::string_view layer, SourceLocation loc) {
  const Graph& graph = scope.graph();
  graph.check_owned(x, fmt::format("the operand of {}", layer), loc);
  if (is_floating(x.dtype())) return;
  graph.fail(DTypeError(fmt::format("x must be floating-point, not {}: embed token ids first",
                                    dtype_name(x.dtype()))),
             layer, {x}, loc);
}

}  // namespace

std::int64_t last_axis_size(const Scope& scope, Value x, std::string_view layer,
                            SourceLocation loc) {
  check_floating(scope, x, layer, loc);
  const Graph& graph = scope.graph();
  if (x.rank() == 0)
    graph.fail(ShapeError("x is a scalar, but the layer needs a feature axis (the last axis)"),
               layer, {x}, loc);
  if (!x.size(-1).is_constant()) {
    graph.fail(ShapeError(fmt::format("the last axis of x has the symbolic size {}; the size of "
                                      "the layer's weights must be known when the layer is built",
                                      x.size(-1).str())),
               layer, {x}, loc);
  }
  return x.size(-1).constant();
}

std::int64_t channel_count(const Scope& scope, Value x, int spatial, std::string_view layer,
                           SourceLocation loc) {
  check_floating(scope, x, layer, loc);
  const Graph& graph = scope.graph();
  if (spatial < 0 ? x.rank() < 2 : x.rank() != spatial + 2) {
    const std::string_view axes = spatial == 1 ? "L" : spatial == 2 ? "H, W" : "...";
    graph.fail(ShapeError(fmt::format("x must be [N, C, {}], but is {}", axes, x.type().str())),
               layer, {x}, loc);
  }
  if (!x.size(1).is_constant()) {
    graph.fail(
        ShapeError(fmt::format("the channels of x (axis 1) have the symbolic size {}; the size of "
                               "the layer's weights must be known when the layer is built",
                               x.size(1).str())),
        layer, {x}, loc);
  }
  return x.size(1).constant();
}

}  // namespace weft
