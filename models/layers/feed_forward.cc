#include "weft/models/layers/feed_forward.h"

#include "weft/models/layers/features.h"

namespace weft {

Value FeedForward::operator()(Value x, SourceLocation loc) const {
  Graph::Frame frame(scope.graph(), "feed_forward", loc, scope.path());
  return down(activate(activation, up(x)));
}

FeedForward make_feed_forward(const Scope& scope, DType dtype, std::int64_t width,
                              const FeedForwardOptions& options, SourceLocation loc) {
  Graph::Frame frame(scope.graph(), "feed_forward", loc, scope.path());
  const std::int64_t inner = options.inner == 0 ? 4 * width : options.inner;
  return {scope, make_linear(scope / options.up_name, dtype, width, inner, options.up),
          make_linear(scope / options.down_name, dtype, inner, width, options.down),
          options.activation};
}

Value feed_forward(const Scope& scope, Value x, const FeedForwardOptions& options,
                   SourceLocation loc) {
  const std::int64_t width = last_axis_size(scope, x, "feed_forward", loc);
  return make_feed_forward(scope, x.dtype(), width, options, loc)(x, loc);
}

}  // namespace weft
