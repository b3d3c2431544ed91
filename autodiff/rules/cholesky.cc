// Cholesky factors (I. Murray, "Differentiation of the Cholesky decomposition", 2016, section 4.1)
// and the check of their pivots.
#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

// With P the lower triangle of L^T G, its diagonal halved: dA is the symmetric part of
// L^-T P L^-1. Where the factorisation failed, L is zero and so is what the solves give.
std::vector<Value> cholesky_rule(const GradientContext& c) {
  if (!c.has_cotangent(0)) return {};
  const Value l = c.output(0);
  const auto solve_transposed = [&](Value b) {
    return c.graph().apply("triangular_solve", {l, b}, {{"transpose", true}}).output(0);
  };
  const Value product =
      matmul(l, c.cotangent(0), {.transpose_a = true, .precision = Precision::highest});
  const Value p = 0.5 * (tril(product) + tril(product, -1));
  const Value s = solve_transposed(transpose(solve_transposed(p)));
  return {0.5 * (s + transpose(s))};
}

// A program that computes a gradient and not the value checks the data, too.
std::vector<Value> pivots_rule(const GradientContext& c) {
  return {c.graph()
              .apply("require_pivots", {c.cotangent(), c.input(1)},
                     {{"problem", c.attributes().text("problem")}})
              .output(0)};
}

}  // namespace

void add_cholesky_rules(RuleSet& rules) {
  rules.add("cholesky", cholesky_rule);
  rules.add("require_pivots", pivots_rule);
}

}  // namespace weft
