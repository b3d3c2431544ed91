#include "weft/models/layers/norm.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/norm.h"
#include "weft/graph/functions/shape.h"
#include "weft/models/layers/features.h"

namespace weft {

Value Norm::operator()(Value x, SourceLocation loc) const {
  Graph::Frame frame(scope.graph(), rms ? "rms_norm" : "layer_norm", loc, scope.path());
  const auto normalise = [&](const Value& gain, const Value& shift) {
    return rms ? rms_norm(x, gain, eps) : layer_norm(x, gain, shift, {.eps = eps});
  };
  Value gain = weight;
  if (offset) gain = gain + 1;
  if (!weight.defined() || weight.shape().rank() == 1) return normalise(gain, bias);
  const Value y = normalise({}, {}) * unsqueeze(gain, 1);
  return bias.defined() ? y + unsqueeze(bias, 1) : y;
}

Norm make_norm(const Scope& scope, DType dtype, std::int64_t width, const NormLayerOptions& options,
               SourceLocation loc) {
  const char* name = options.rms ? "rms_norm" : "layer_norm";
  Graph::Frame frame(scope.graph(), name, loc, scope.path());
  const auto reject = [&](const std::string& what) {
    scope.graph().fail(ArgumentError(what), name, {}, loc);
  };
  if (options.heads < 0)
    reject(fmt::format("the number of heads must not be negative, but is {}", options.heads));
  if (options.offset && !options.weights) reject("a norm without weights has no offset");
  Norm layer{scope, {}, {}, options.eps, options.rms, options.offset};
  if (!options.weights) return layer;
  const ValueType type{dtype, options.heads == 0 ? Shape{width} : Shape{options.heads, width}};
  layer.weight = scope.variable(
      "weight", type, {.initializer = options.offset ? Initializer::zeros() : Initializer::ones()});
  if (options.bias && !options.rms)
    layer.bias = scope.variable("bias", type, {.initializer = Initializer::zeros()});
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
