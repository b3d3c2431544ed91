#include "weft/models/layers/experts/mixture_of_experts.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/models/layers/features.h"

namespace weft {
namespace {

// The order in which choices are computed. Choice j of token t has the number j * tokens + t, so
// that the order of the numbers is the order of precedence.
struct Dispatch {
  Value order;   // i64 [k * tokens]: numbers of choices, sorted by expert, dropped choices last
  Value counts;  // i64 [experts]: the choices of each expert that are computed
};

// Returns the number of choices that an expert accepts, i64: at most all of them. Factors such as
// 1.1 are not exact, so a relative excess of 1e-12 over an integer is not rounded up.
Value capacity(const Routing& routing, double factor) {
  const Dim choices = routing.experts.shape()[0] * routing.experts.shape()[1];
  const Value all = dim_value(routing.experts.graph(), choices, DType::f64);
  const double per_choice = factor / static_cast<double>(routing.counts.shape()[0].constant());
  return cast(minimum(ceil(all * per_choice * (1 - 1e-12)), all), DType::i64);
}

Dispatch dispatch(const Routing& routing, const Value& choices, std::optional<double> factor) {
  Dispatch result{argsort(choices), routing.counts};
  if (!factor) return result;
  const Value limit = capacity(routing, *factor);
  const Value experts = take(choices, result.order);  // ascending
  const Value first = cumsum(routing.counts, 0, {.exclusive = true});
  const Value position = iota(choices.graph(), choices.shape(), 0) - take(first, experts);
  const Value kept = where(position < limit, experts, routing.counts.shape()[0].constant());
  result.order = take(result.order, argsort(kept));
  result.counts = minimum(routing.counts, limit);
  return result;
}

// Returns which choices for the tokens of x are within the capacity of their row, bool [tokens, k].
Value kept_in_rows(const Routing& routing, const Value& x, std::int64_t capacity) {
  const Value& experts = routing.experts;
  const Dim tokens = experts.shape()[0], k = experts.shape()[1];
  const Dim length = x.rank() == 1 ? Dim(1) : x.shape()[x.rank() - 2];
  Dim rows = 1;
  for (int axis = 0; axis < x.rank() - 2; ++axis) rows = rows * x.shape()[axis];
  // The choices of each row by precedence: all first choices, then all second choices, and so on.
  const Value ordered =
      reshape(permute(reshape(experts, {rows, length, k}), {0, 2, 1}), {rows, k * length});
  const Value chosen = one_hot(ordered, routing.counts.shape()[0], DType::i64);
  const Value earlier = cumsum(chosen, 1, {.exclusive = true});
  const Value position = sum(earlier * chosen, {2});
  return reshape(permute(reshape(position < capacity, {rows, k, length}), {0, 2, 1}), {tokens, k});
}

// Drops the choices that are not `kept`, bool with one element per choice.
Dispatch dispatch_kept(const Routing& routing, const Value& choices, const Value& kept) {
  const Dim experts = routing.counts.shape()[0];
  const Value marked = where(kept, choices, dim_value(choices.graph(), experts, choices.dtype()));
  const Value counts =
      index_add(zeros(choices.graph(), DType::i64, {experts + 1}), marked, ones_like(marked));
  return {argsort(marked), slice(counts, 0, {.end = experts})};
}

}  // namespace

MixtureOfExpertsOutput MixtureOfExperts::operator()(Value x, SourceLocation loc) const {
  Graph& graph = scope.graph();
  Graph::Frame frame(graph, "mixture_of_experts", loc, scope.path());
  const Value tokens = x.rank() == 1 ? unsqueeze(x, 0) : flatten(x, 0, -2);
  const Dim count = tokens.shape()[0], k = router.options.experts_per_token;
  const Routing routing = router(tokens);
  const Value choices = flatten(transpose(routing.experts));
  Value kept;
  if (row_capacity > 0) kept = kept_in_rows(routing, x, row_capacity);
  const Dispatch dispatched = kept.defined()
                                  ? dispatch_kept(routing, choices, flatten(transpose(kept)))
                                  : dispatch(routing, choices, capacity_factor);
  const Value token = take(flatten(iota(graph, {k, count}, 1)), dispatched.order);
  const Value weight = take(flatten(transpose(routing.weights)), dispatched.order);

  Value rows = take(tokens, token);
  if (weights_on_input) rows = rows * unsqueeze(weight, 1);
  rows = experts(rows, dispatched.counts);
  if (!weights_on_input) rows = rows * unsqueeze(weight, 1);
  Value y = index_add(zeros(graph, rows.dtype(), tokens.shape()), token, rows);
  if (shared) {
    const Value all = (*shared)(tokens);
    y = y + (shared_gate ? sigmoid((*shared_gate)(tokens)) * all : all);
  }
  return {.y = reshape(y, x.shape()),
          .balancing_loss = routing.balancing_loss(),
          .z_loss = routing.z_loss(),
          .expert_counts = routing.counts,
          .dropped_choices = sum(routing.counts - dispatched.counts),
          .kept = kept,
          .routing = routing};
}

MixtureOfExperts make_mixture_of_experts(const Scope& scope, DType dtype, std::int64_t width,
                                         const MixtureOfExpertsOptions& options,
                                         SourceLocation loc) {
  Graph::Frame frame(scope.graph(), "mixture_of_experts", loc, scope.path());
  const std::optional<double> factor = options.capacity_factor;
  if (factor && !(*factor > 0 && std::isfinite(*factor))) {
    scope.graph().fail(ArgumentError(fmt::format("capacity_factor must be positive and finite, but "
                                                 "is {}; leave it out to drop no choices",
                                                 *factor)),
                       "mixture_of_experts", {}, loc);
  }
  if (options.row_capacity < 0 || (options.row_capacity > 0 && factor)) {
    scope.graph().fail(
        ArgumentError(fmt::format("row_capacity must be positive, or 0 for none, and cannot be "
                                  "combined with capacity_factor, but is {}",
                                  options.row_capacity)),
        "mixture_of_experts", {}, loc);
  }
  if (options.shared_gate && options.shared_inner == 0) {
    scope.graph().fail(ArgumentError("shared_gate multiplies the shared block; set shared_inner"),
                       "mixture_of_experts", {}, loc);
  }
  Router router = make_router(scope / "router", dtype, width,
                              {.experts = options.experts,
                               .experts_per_token = options.experts_per_token,
                               .scores = options.scores,
                               .normalize_weights = options.normalize_weights,
                               .scale = options.scale,
                               .bias = options.router_bias,
                               .groups = options.groups,
                               .groups_per_token = options.groups_per_token,
                               .group_score = options.group_score,
                               .correction = options.correction,
                               .correction_speed = options.correction_speed,
                               .jitter = options.jitter,
                               .initializer = options.initializer},
                              loc);
  Experts experts = make_experts(scope / "experts", dtype, width,
                                 {.experts = options.experts,
                                  .inner = options.inner,
                                  .activation = options.activation,
                                  .gated = options.gated,
                                  .bias = options.bias,
                                  .limit = options.limit,
                                  .dropout = options.dropout,
                                  .weight_layout = options.weight_layout,
                                  .initializer = options.initializer,
                                  .down_initializer = options.down_initializer},
                                 loc);
  MixtureOfExperts layer{scope,  std::move(router),        std::move(experts),
                         factor, options.weights_on_input, options.row_capacity};
  if (options.shared_inner != 0) {
    layer.shared =
        make_feed_forward(scope / "shared", dtype, width,
                          {.inner = options.shared_inner,
                           .activation = options.activation,
                           .up = {.bias = false, .initializer = options.initializer},
                           .down = {.bias = false, .initializer = options.down_initializer},
                           .gated = options.gated},
                          loc);
  }
  if (options.shared_gate) {
    layer.shared_gate = make_linear(scope / "shared_gate", dtype, width, 1,
                                    {.bias = false, .initializer = options.initializer}, loc);
  }
  return layer;
}

MixtureOfExpertsOutput mixture_of_experts(const Scope& scope, Value x,
                                          const MixtureOfExpertsOptions& options,
                                          SourceLocation loc) {
  const std::int64_t width = last_axis_size(scope, x, "mixture_of_experts", loc);
  return make_mixture_of_experts(scope, x.dtype(), width, options, loc)(x, loc);
}

}  // namespace weft
