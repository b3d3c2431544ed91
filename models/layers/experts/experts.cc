#include "weft/models/layers/experts/experts.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/grouped_matmul.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"
#include "weft/models/layers/dropout.h"

namespace weft {
namespace {

// Returns x W[e] + b[e] for the rows of each expert e.
Value affine_groups(const Value& x, const Variable& weight, const Variable& bias,
                    const Value& counts, LinearLayout layout) {
  const Value y =
      grouped_matmul(x, weight, counts, {.transpose_w = layout == LinearLayout::out_in});
  if (!bias.defined()) return y;
  // A product with a column of ones adds the bias to the rows of each expert, but not to the rows
  // without an expert. Its gradient sums over the rows of each expert.
  const Value ones_column = ones(x.graph(), x.dtype(), {x.shape()[0], 1});
  return y + grouped_matmul(ones_column, unsqueeze(bias, 1), counts);
}

}  // namespace

Value Experts::operator()(Value x, Value counts, SourceLocation loc) const {
  Graph::Frame frame(scope.graph(), "experts", loc, scope.path());
  Value hidden = affine_groups(x, up, up_bias, counts, layout);
  if (gate.defined()) {
    Value gates = affine_groups(x, gate, gate_bias, counts, layout);
    if (limit != 0) {
      gates = clamp(gates, std::nullopt, limit);
      hidden = clamp(hidden, -limit, limit) + 1;
    }
    hidden = activate(activation, gates) * hidden;
  } else {
    hidden = activate(activation, hidden);
  }
  hidden = weft::dropout(scope, hidden, dropout);
  return affine_groups(hidden, down, down_bias, counts, layout);
}

Experts make_experts(const Scope& scope, DType dtype, std::int64_t width,
                     const ExpertsOptions& options, SourceLocation loc) {
  Graph::Frame frame(scope.graph(), "experts", loc, scope.path());
  const std::int64_t inner = options.inner == 0 ? 4 * width : options.inner;
  if (options.experts < 1 || width < 1 || inner < 1) {
    scope.graph().fail(ArgumentError(fmt::format("there must be at least one expert and one "
                                                 "feature, not {} experts, width {} and inner {}",
                                                 options.experts, width, inner)),
                       "experts", {}, loc);
  }
  if (!(options.limit >= 0 && std::isfinite(options.limit)) ||
      (options.limit != 0 && !options.gated)) {
    scope.graph().fail(ArgumentError(fmt::format("limit must be positive and finite, or 0, and "
                                                 "needs gated experts, but is {}",
                                                 options.limit)),
                       "experts", {}, loc);
  }
  const bool out_in = options.weight_layout == LinearLayout::out_in;
  const auto weight = [&](std::string_view name, std::int64_t in, std::int64_t out,
                          const std::optional<Initializer>& initializer) {
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    return scope.variable(
        name, dtype, {options.experts, out_in ? out : in, out_in ? in : out},
        {.initializer = initializer.value_or(Initializer::uniform(-bound, bound))});
  };
  const auto bias = [&](std::string_view name, std::int64_t out) {
    return options.bias ? scope.variable(name, dtype, {options.experts, out},
                                         {.initializer = Initializer::zeros()})
                        : Variable();
  };
  Experts layer{scope,
                {},
                {},
                {},
                {},
                {},
                {},
                options.activation,
                options.weight_layout,
                options.limit,
                options.dropout};
  if (options.gated) {
    layer.gate = weight("gate", width, inner, options.initializer);
    layer.gate_bias = bias("gate_bias", inner);
  }
  layer.up = weight("up", width, inner, options.initializer);
  layer.up_bias = bias("up_bias", inner);
  layer.down = weight("down", inner, width, options.down_initializer);
  layer.down_bias = bias("down_bias", width);
  return layer;
}

}  // namespace weft
