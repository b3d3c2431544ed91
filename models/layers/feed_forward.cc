#include "weft/models/layers/feed_forward.h"

#include "weft/graph/functions/arithmetic.h"
#include "weft/models/layers/features.h"

namespace weft {

Value FeedForward::hidden(Value x) const {
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
  FeedForward layer{scope, make_linear(scope / options.up_name, dtype, width, inner, options.up),
                    make_linear(scope / options.down_name, dtype, inner, width, options.down),
                    options.activation};
  if (options.gated)
    layer.gate = make_linear(scope / options.gate_name, dtype, width, inner, options.up);
  return layer;
}

Value feed_forward(const Scope& scope, Value x, const FeedForwardOptions& options,
                   SourceLocation loc) {
  const std::int64_t width = last_axis_size(scope, x, "feed_forward", loc);
  return make_feed_forward(scope, x.dtype(), width, options, loc)(x, loc);
}

}  // namespace weft
