#include "weft/models/layers/linear.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/models/layers/features.h"

namespace weft {

Value Linear::operator()(Value x, SourceLocation loc) const {
  Graph::Frame frame(scope.graph(), "linear", loc, scope.path());
  return linear(x, weight, bias, layout);
}

Linear make_linear(const Scope& scope, DType dtype, std::int64_t in_features,
                   std::int64_t out_features, const LinearOptions& options, SourceLocation loc) {
  Graph::Frame frame(scope.graph(), "linear", loc, scope.path());
  if (in_features < 1 || out_features < 1) {
    scope.graph().fail(ArgumentError(fmt::format("a linear layer needs at least one feature on "
                                                 "either side, not {} -> {}",
                                                 in_features, out_features)),
                       "linear", {}, loc);
  }
  const double bound = 1 / std::sqrt(static_cast<double>(in_features));
  const Initializer initializer = options.initializer.value_or(Initializer::uniform(-bound, bound));
  const bool out_in = options.weight_layout == LinearLayout::out_in;
  Linear layer{scope, {}, {}, options.weight_layout};
  layer.weight = scope.variable(
      "weight", dtype, {out_in ? out_features : in_features, out_in ? in_features : out_features},
      {.initializer = initializer});
  if (options.bias) {
    layer.bias =
        scope.variable("bias", dtype, {out_features}, {.initializer = Initializer::zeros()});
  }
  return layer;
}

Value linear(const Scope& scope, Value x, std::int64_t out_features, const LinearOptions& options,
             SourceLocation loc) {
  const std::int64_t in = last_axis_size(scope, x, "linear", loc);
  return make_linear(scope, x.dtype(), in, out_features, options, loc)(x, loc);
}

}  // namespace weft
