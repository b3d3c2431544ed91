#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/shape.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

// For T X = b: db = T^-T G, and dT = -db X^T, restricted to the triangle that the solve reads. For
// T^T X = b: db = T^-1 G, and dT is transposed. The gradients of a singular T are zeros.
std::vector<Value> solve_rule(const GradientContext& c) {
  if (!c.has_cotangent(0)) return {};
  const bool upper = c.attributes().flag("upper"), transposed = c.attributes().flag("transpose");
  const bool unit = c.attributes().flag("unit_diagonal");
  const Value x = c.output(0);
  const Value db =
      c.graph()
          .apply("triangular_solve", {c.input(0), c.cotangent(0)},
                 {{"upper", upper}, {"transpose", !transposed}, {"unit_diagonal", unit}})
          .output(0);
  if (!c.needs(0)) return {Value(), db};
  const MatmulOptions options{.transpose_b = true, .precision = Precision::highest};
  const Value dt = -(transposed ? matmul(x, db, options) : matmul(db, x, options));
  return {upper ? triu(dt, unit ? 1 : 0) : tril(dt, unit ? -1 : 0), db};
}

}  // namespace

void TriangularSolveOps::add(RuleSet& rules) { rules.add("triangular_solve", solve_rule); }

}  // namespace weft
