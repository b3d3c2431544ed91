// Gradients of the Cholesky factorisation (I. Murray, "Differentiation of the Cholesky
// decomposition", 2016, section 4.1) and of the check of its pivots.
#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/shape.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

// Let P be the lower triangle of L^T G with its diagonal halved; then dA is the symmetric part of
// L^-T P L^-1. If the factorisation failed, L is zero, and the solves return zeros.
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

// Repeats the check in the gradient, so that a program that computes only the gradient also
// validates its data.
std::vector<Value> pivots_rule(const GradientContext& c) {
  return {c.graph()
              .apply("require_pivots", {c.cotangent(), c.input(1)},
                     {{"problem", c.attributes().text("problem")}})
              .output(0)};
}

}  // namespace

void CholeskyOps::add(RuleSet& rules) {
  rules.add("cholesky", cholesky_rule);
  rules.add("require_pivots", pivots_rule);
}

}  // namespace weft
