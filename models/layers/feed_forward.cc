#include "weft/models/layers/feed_forward.h"

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/shape.h"
#include "weft/models/layers/features.h"

namespace weft {

Value FeedForward::hidden(Value x) const {
  if (fused_gate) {
    const std::vector<Value> parts = split_equal(up(x), 2, -1);
    return activate(activation, parts[0]) * parts[1];
  }
  return gate ? activate(activation, (*gate)(x)) * up(x) : activate(activation, up(x));
}

Value FeedForward::operator()(Value x, SourceLocation loc) const {
  Graph::Frame frame(scope.graph(), "feed_forward", loc, scope.path());
  return down(hidden(x));
}

FeedForward make_feed_forward(const Scope& scope, DType dtype, std::int64_t width,
                              const FeedForwardOptions& options, SourceLocation loc) {
  Graph::Frame frame(scope.graph(), "feed_forward", loc, scope.path());
  const std::int64_t inner = options.inner == 0 ? 4 * width : options.inner;
  if (options.fused_gate && !options.gated) {
    scope.graph().fail(ArgumentError("a fused gate needs a gated block"), "feed_forward", {}, loc);
  }
  FeedForward layer{scope,
                    make_linear(scope / (options.fused_gate ? options.fused_name : options.up_name),
                                dtype, width, options.fused_gate ? 2 * inner : inner, options.up),
                    make_linear(scope / options.down_name, dtype, inner, width, options.down),
                    options.activation};
  layer.fused_gate = options.fused_gate;
  if (options.gated && !options.fused_gate)
    layer.gate = make_linear(scope / options.gate_name, dtype, width, inner, options.up);
  return layer;
}

Value feed_forward(const Scope& scope, Value x, const FeedForwardOptions& options,
                   SourceLocation loc) {
  const std::int64_t width = last_axis_size(scope, x, "feed_forward", loc);
  return make_feed_forward(scope, x.dtype(), width, options, loc)(x, loc);
}

}  // namespace weft
