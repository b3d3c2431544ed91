#include "weft/models/layers/features.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {

std::int64_t last_axis_size(const Scope& scope, Value x, std::string_view layer,
                            SourceLocation loc) {
  const Graph& graph = scope.graph();
  graph.check_owned(x, fmt::format("the operand of {}", layer), loc);
  if (!is_floating(x.dtype())) {
    graph.fail(
        DTypeError(fmt::format("x must be floating, not {}: token ids need an embedding first",
                               dtype_name(x.dtype()))),
        layer, {x}, loc);
  }
  if (x.rank() == 0)
    graph.fail(ShapeError("x is a scalar; a layer needs a last axis of features"), layer, {x}, loc);
  if (!x.size(-1).is_constant()) {
    graph.fail(ShapeError(fmt::format("the last axis of x has the symbolic size {}; the size of a "
                                      "layer's weights must be known when it is built",
                                      x.size(-1).str())),
               layer, {x}, loc);
  }
  return x.size(-1).constant();
}

}  // namespace weft
