#include "weft/models/layers/experts/router.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/norm.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

// Returns the sum of the scores of each token, [tokens, 1]. The summand, which is too small to
// change other sums, prevents a division by zero if all scores are sigmoids of very negative
// logits.
Value score_sum(const Value& scores) { return sum(scores, {1}, true) + 1e-20; }

// Returns the number of tokens as a scalar that is at least 1.
Value token_count(const Value& per_token) {
  const Value count = dim_value(per_token.graph(), per_token.shape()[0], per_token.dtype());
  return maximum(count, 1);
}

}  // namespace

Value Routing::balancing_loss() const {
  const Dim experts_count = scores.shape()[1], k = experts.shape()[1];
  Graph& graph = scores.graph();
  const Value tokens = token_count(scores);
  const Value probabilities = scores / score_sum(scores);
  const Value fractions =
      cast(counts, scores.dtype()) / (tokens * dim_value(graph, k, scores.dtype()));
  return dim_value(graph, experts_count, scores.dtype()) *
         sum(fractions * (sum(probabilities, {0}) / tokens));
}

Value Routing::z_loss() const { return sum(square(logsumexp(logits, {1}))) / token_count(logits); }

Routing Router::operator()(Value x, SourceLocation loc) const {
  Graph& graph = logits.scope.graph();
  Graph::Frame frame(graph, "router", loc, logits.scope.path());
  Routing r;
  r.logits = logits(x);
  r.scores = options.scores == RouterScores::softmax ? softmax(r.logits, 1) : sigmoid(r.logits);
  const Sorted best = topk(r.scores, options.experts_per_token, 1);
  r.experts = best.indices;
  r.weights = options.normalize_weights ? best.values / score_sum(best.values) : best.values;
  const Value choices = flatten(r.experts);
  r.counts = index_add(zeros(graph, DType::i64, {options.experts}), choices, ones_like(choices));
  return r;
}

Router make_router(const Scope& scope, DType dtype, std::int64_t width,
                   const RouterOptions& options, SourceLocation loc) {
  Graph::Frame frame(scope.graph(), "router", loc, scope.path());
  const std::int64_t k = options.experts_per_token;
  if (k < 1 || k > options.experts) {
    scope.graph().fail(ArgumentError(fmt::format("experts_per_token must be between 1 and the "
                                                 "number of experts ({}), but is {}",
                                                 options.experts, k)),
                       "router", {}, loc);
  }
  return {make_linear(scope, dtype, width, options.experts, {.bias = false}), options};
}

}  // namespace weft
