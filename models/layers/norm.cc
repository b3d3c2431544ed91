#include "weft/models/layers/norm.h"

#include "weft/graph/functions/norm.h"
#include "weft/models/layers/features.h"

namespace weft {

Value LayerNorm::operator()(Value x, SourceLocation loc) const {
  Graph::Frame frame(scope.graph(), "layer_norm", loc, scope.path());
  return layer_norm(x, weight, bias, {.eps = eps});
}

LayerNorm make_layer_norm(const Scope& scope, DType dtype, std::int64_t width,
                          const NormLayerOptions& options, SourceLocation loc) {
  Graph::Frame frame(scope.graph(), "layer_norm", loc, scope.path());
  LayerNorm layer{scope, {}, {}, options.eps};
  layer.weight = scope.variable("weight", dtype, {width}, {.initializer = Initializer::ones()});
  if (options.bias)
    layer.bias = scope.variable("bias", dtype, {width}, {.initializer = Initializer::zeros()});
  return layer;
}

Value layer_norm(const Scope& scope, Value x, const NormLayerOptions& options, SourceLocation loc) {
  const std::int64_t width = last_axis_size(scope, x, "layer_norm", loc);
  return make_layer_norm(scope, x.dtype(), width, options, loc)(x, loc);
}

Value rms_norm(const Scope& scope, Value x, const NormLayerOptions& options, SourceLocation loc) {
  const std::int64_t width = last_axis_size(scope, x, "rms_norm", loc);
  Graph::Frame frame(scope.graph(), "rms_norm", loc, scope.path());
  const Variable gain =
      scope.variable("weight", x.dtype(), {width}, {.initializer = Initializer::ones()});
  return rms_norm(x, gain, options.eps);
}

}  // namespace weft
