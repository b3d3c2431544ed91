#include "weft/models/layers/norm.h"

#include "weft/graph/functions/norm.h"
#include "weft/models/layers/features.h"

namespace weft {

Value Norm::operator()(Value x, SourceLocation loc) const {
  Graph::Frame frame(scope.graph(), rms ? "rms_norm" : "layer_norm", loc, scope.path());
  return rms ? rms_norm(x, weight, eps) : layer_norm(x, weight, bias, {.eps = eps});
}

Norm make_norm(const Scope& scope, DType dtype, std::int64_t width, const NormLayerOptions& options,
               SourceLocation loc) {
  Graph::Frame frame(scope.graph(), options.rms ? "rms_norm" : "layer_norm", loc, scope.path());
  Norm layer{scope, {}, {}, options.eps, options.rms};
  layer.weight = scope.variable("weight", dtype, {width}, {.initializer = Initializer::ones()});
  if (options.bias && !options.rms)
    layer.bias = scope.variable("bias", dtype, {width}, {.initializer = Initializer::zeros()});
  return layer;
}

Value layer_norm(const Scope& scope, Value x, const NormLayerOptions& options, SourceLocation loc) {
  const std::int64_t width = last_axis_size(scope, x, "layer_norm", loc);
  NormLayerOptions layer = options;
  layer.rms = false;
  return make_norm(scope, x.dtype(), width, layer, loc)(x, loc);
}

Value rms_norm(const Scope& scope, Value x, const NormLayerOptions& options, SourceLocation loc) {
  const std::int64_t width = last_axis_size(scope, x, "rms_norm", loc);
  NormLayerOptions layer = options;
  layer.rms = true;
  return make_norm(scope, x.dtype(), width, layer, loc)(x, loc);
}

}  // namespace weft
