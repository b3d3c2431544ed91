#include "weft/models/layers/experts/router.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/norm.h"
#include "weft/graph/functions/random/random.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/functions/shards.h"
#include "weft/graph/functions/state.h"
#include "weft/models/layers/dropout.h"

namespace weft {
namespace {

// Returns a description of the first invalid option, or "".
std::string problem_of(const RouterOptions& o) {
  const std::int64_t k = o.experts_per_token;
  if (k < 1 || k > o.experts) {
    return fmt::format(
        "experts_per_token must be between 1 and the number of experts ({}), but is {}", o.experts,
        k);
  }
  if (o.groups < 1 || o.experts % o.groups != 0) {
    return fmt::format("the number of groups must divide the number of experts ({}), but is {}",
                       o.experts, o.groups);
  }
  if (o.groups_per_token < 1 || o.groups_per_token > o.groups) {
    return fmt::format(
        "groups_per_token must be between 1 and the number of groups ({}), but is {}", o.groups,
        o.groups_per_token);
  }
  const std::int64_t group_size = o.experts / o.groups;
  if (k > o.groups_per_token * group_size) {
    return fmt::format(
        "experts_per_token is {}, but {} of {} groups contain only {} experts; "
        "increase groups_per_token",
        k, o.groups_per_token, o.groups, o.groups_per_token * group_size);
  }
  if (o.group_score == RouterGroupScore::best_two && o.groups > 1 && group_size < 2) {
    return "groups of one expert have no two best scores; set group_score to best";
  }
  if (!std::isfinite(o.scale) || !std::isfinite(o.correction_speed)) {
    return fmt::format("scale and correction_speed must be finite, but are {} and {}", o.scale,
                       o.correction_speed);
  }
  if (!(o.jitter >= 0 && o.jitter < 1))
    return fmt::format("jitter must be in [0, 1), but is {}", o.jitter);
  if (o.correction_speed != 0 && !o.correction) {
    return "correction_speed moves the correction of the scores; set correction";
  }
  return "";
}

// Returns the sum of the scores of each token, [tokens, 1]. The summand, which is too small to
// change other sums, prevents a division by zero if all scores are sigmoids of very negative
// logits.
Value score_sum(const Value& scores) { return sum(scores, {1}, true) + 1e-20; }

// Returns the number of tokens as a scalar that is at least 1.
Value token_count(const Value& per_token) {
  const Value count = dim_value(per_token.graph(), per_token.shape()[0], per_token.dtype());
  return maximum(count, 1);
}

// Returns the scores by which experts are chosen, [tokens, experts], with -inf for experts that are
// not in the chosen groups.
Value within_best_groups(const Value& scores, const RouterOptions& o) {
  if (o.groups_per_token == o.groups) return scores;
  const Dim tokens = scores.shape()[0];
  const Value grouped = reshape(scores, {tokens, o.groups, o.experts / o.groups});
  const Value group_scores = o.group_score == RouterGroupScore::best
                                 ? max(grouped, {2})
                                 : sum(topk(grouped, 2, 2).values, {2});
  const Value best = topk(group_scores, o.groups_per_token, 1).indices;
  const Value is_best = sum(one_hot(best, o.groups, DType::i64), {1});
  const Value allowed = unsqueeze(equal(is_best, 1), 2);
  return reshape(where(allowed, grouped, -std::numeric_limits<double>::infinity()), scores.shape());
}

// Returns the correction after one training step.
Value balanced_correction(const Variable& correction, const Value& counts, const RouterOptions& o) {
  const Value all = shard_sum(counts);
  const Value missing = cast(sum(all) - o.experts * all, correction.dtype());
  return correction + o.correction_speed * sign(missing);
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
  if (drops_out(logits.scope, options.jitter, loc)) {
    x = x *
        uniform(graph.key("dropout"), x.shape(), 1 - options.jitter, 1 + options.jitter, x.dtype());
  }
  r.logits = logits(x);
  r.scores = options.scores == RouterScores::softmax ? softmax(r.logits, 1) : sigmoid(r.logits);
  const Value choice = correction.defined() ? r.scores + correction : r.scores;
  const Sorted best = topk(within_best_groups(choice, options), options.experts_per_token, 1);
  r.experts = best.indices;
  r.weights = correction.defined() ? take_along_axis(r.scores, r.experts, 1) : best.values;
  if (options.normalize_weights) r.weights = r.weights / score_sum(r.weights);
  if (options.scale != 1) r.weights = r.weights * options.scale;
  const Value choices = flatten(r.experts);
  r.counts = index_add(zeros(graph, DType::i64, {options.experts}), choices, ones_like(choices));
  if (options.correction_speed != 0 && logits.scope.mode() == Mode::training) {
    r.weights =
        with_update(r.weights, correction, balanced_correction(correction, r.counts, options));
  }
  return r;
}

Value joint_balancing_loss(const std::vector<Routing>& layers, OptionalArg mask,
                           SourceLocation loc) {
  if (layers.empty()) {
    throw ArgumentError(fmt::format(
        "joint_balancing_loss needs the routing of at least one layer\n  {}", loc.str()));
  }
  Graph& graph = layers[0].scores.graph();
  const Graph::Frame frame(graph, "joint_balancing_loss", loc);
  const DType dtype = layers[0].scores.dtype();
  const Dim experts = layers[0].scores.shape()[1], k = layers[0].experts.shape()[1];
  const Value weights = mask.present() ? cast(flatten(mask.value()), dtype) : Value();
  Value choices, probabilities, tokens;
  const auto add = [](Value& total, const Value& part) {
    total = total.defined() ? total + part : part;
  };
  for (const Routing& r : layers) {
    if (r.scores.shape()[1] != experts || r.experts.shape()[1] != k) {
      graph.fail(
          ArgumentError(fmt::format(
              "the layers of joint_balancing_loss must have equal numbers of experts, but "
              "{} of {} and {} of {} experts are chosen",
              k.str(), experts.str(), r.experts.shape()[1].str(), r.scores.shape()[1].str())),
          "joint_balancing_loss", {}, loc);
    }
    const Value per_token = weights.defined() ? weights : ones(graph, dtype, {r.scores.shape()[0]});
    const Value column = unsqueeze(per_token, 1);
    add(probabilities, sum(r.scores / score_sum(r.scores) * column, {0}));
    add(choices, index_add(zeros(graph, dtype, {experts}), flatten(r.experts),
                           flatten(broadcast_to(column, r.experts.shape()))));
    add(tokens, sum(per_token));
  }
  // Without tokens, the numerators are 0.
  const Value count = where(equal(tokens, 0), 1, tokens);
  return dim_value(graph, experts, dtype) * sum(choices / count * (probabilities / count));
}

Router make_router(const Scope& scope, DType dtype, std::int64_t width,
                   const RouterOptions& options, SourceLocation loc) {
  Graph::Frame frame(scope.graph(), "router", loc, scope.path());
  const std::string problem = problem_of(options);
  if (!problem.empty()) scope.graph().fail(ArgumentError(problem), "router", {}, loc);
  Router router{make_linear(scope, dtype, width, options.experts,
                            {.bias = options.bias, .initializer = options.initializer}),
                options};
  if (options.correction) {
    router.correction = scope.variable(
        "correction", dtype, {options.experts},
        {.kind = VariableKind::buffer, .trainable = false, .initializer = Initializer::zeros()});
  }
  return router;
}

}  // namespace weft
