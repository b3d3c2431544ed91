#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/factorise.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/shape.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

// Let M = R dR^T - dQ^T Q, and S the symmetric matrix with the lower triangle of M. Then
//   dA = (dQ + Q S) R^-T
// (S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions with
// application in optimum experimental design", 2010).
std::vector<Value> qr_rule(const GradientContext& c) {
  const Value q = c.output(0), r = c.output(1);
  const auto product = [](Value a, Value b, bool transpose_a, bool transpose_b) {
    return matmul(
        a, b,
        {.transpose_a = transpose_a, .transpose_b = transpose_b, .precision = Precision::highest});
  };
  Value m, right;
  if (c.has_cotangent(1)) m = product(r, c.cotangent(1), false, true);
  if (c.has_cotangent(0)) {
    const Value part = product(c.cotangent(0), q, true, false);
    m = m.defined() ? m - part : -part;
  }
  right = product(q, tril(m) + transpose(tril(m, -1)), false, false);
  if (c.has_cotangent(0)) right = right + c.cotangent(0);
  return {transpose(triangular_solve(r, transpose(right), {.upper = true}))};
}

}  // namespace

void QrOps::add(RuleSet& rules) { rules.add("qr", qr_rule); }

}  // namespace weft
