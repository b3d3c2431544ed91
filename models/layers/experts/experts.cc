#include "weft/models/layers/experts/experts.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/grouped_matmul.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

// Returns x W[e] + b[e] for the rows of each expert e.
Value affine_groups(const Value& x, const Variable& weight, const Variable& bias,
                    const Value& counts) {
  const Value y = grouped_matmul(x, weight, counts);
  if (!bias.defined()) return y;
  // A product with a column of ones adds the bias to the rows of each expert, but not to the rows
  // without an expert. Its gradient sums over the rows of each expert.
  const Value ones_column = ones(x.graph(), x.dtype(), {x.shape()[0], 1});
  return y + grouped_matmul(ones_column, unsqueeze(bias, 1), counts);
}

}  // namespace

Value Experts::operator()(Value x, Value counts, SourceLocation loc) const {
  Graph::Frame frame(scope.graph(), "experts", loc, scope.path());
  Value hidden = affine_groups(x, up, up_bias, counts);
  if (gate.defined()) {
    hidden = activate(activation, affine_groups(x, gate, gate_bias, counts)) * hidden;
  } else {
    hidden = activate(activation, hidden);
  }
  return affine_groups(hidden, down, down_bias, counts);
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
  const auto weight = [&](std::string_view name, std::int64_t in, std::int64_t out) {
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    return scope.variable(name, dtype, {options.experts, in, out},
                          {.initializer = Initializer::uniform(-bound, bound)});
  };
  const auto bias = [&](std::string_view name, std::int64_t out) {
    return options.bias ? scope.variable(name, dtype, {options.experts, out},
                                         {.initializer = Initializer::zeros()})
                        : Variable();
  };
  Experts layer{scope, {}, {}, {}, {}, {}, {}, options.activation};
  if (options.gated) {
    layer.gate = weight("gate", width, inner);
    layer.gate_bias = bias("gate_bias", inner);
  }
  layer.up = weight("up", width, inner);
  layer.up_bias = bias("up_bias", inner);
  layer.down = weight("down", inner, width);
  layer.down_bias = bias("down_bias", width);
  return layer;
}

}  // namespace weft
