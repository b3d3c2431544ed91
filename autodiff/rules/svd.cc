#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

Value product(Value a, Value b, bool transpose_a = false, bool transpose_b = false) {
  return matmul(
      a, b,
      {.transpose_a = transpose_a, .transpose_b = transpose_b, .precision = Precision::highest});
}

// Returns 1 / x, and 0 for elements that are 0.
Value inverse_or_zero(Value x) {
  const Value zero = equal(x, 0);
  return where(zero, 0, 1 / where(zero, 1, x));
}

// F[i][j] = 1 / (s_j^2 - s_i^2), and 0 for equal singular values, whose individual singular vectors
// have no derivative.
Value inverse_differences(Value s) {
  const Value across = unsqueeze(s, -2), down = unsqueeze(s, -1);
  return inverse_or_zero((across - down) * (across + down));
}

// Returns square matrices with x on the diagonal.
Value diagonal_matrix(Value x) {
  const Dim& n = x.shape()[x.rank() - 1];
  const Shape square{n, n};
  return where(equal(iota(x.graph(), square, 0), iota(x.graph(), square, 1)), unsqueeze(x, -2), 0);
}

Value add_defined(Value a, Value b) { return a.defined() ? a + b : b; }

// Returns `value` if a > b, otherwise zeros. The comparison is part of the graph, because sizes may
// be symbolic; results are then bit-identical for symbolic and constant sizes.
Value if_longer(const Dim& a, const Dim& b, Value value) {
  Graph& graph = value.graph();
  return where(greater(dim_value(graph, a), dim_value(graph, b)), value, 0);
}

// J. Townsend, "Differentiating the singular value decomposition", 2016:
//   dA = U (F o (U^T dU - dU^T U)) S V^T + U S (F o (V^T dV - dV^T V)) V^T + U dS V^T
//        + (I - U U^T) dU S^-1 V^T + U S^-1 dV^T (I - V V^T);
// at least one of the last two terms is zero.
std::vector<Value> svd_rule(const GradientContext& c) {
  const Value u = c.output(0), s = c.output(1), vt = c.output(2);
  const Value across = unsqueeze(s, -2), down = unsqueeze(s, -1);
  const Shape& shape = c.input(0).shape();
  const Dim &rows = shape[shape.rank() - 2], &columns = shape[shape.rank() - 1];
  const Dim& values = s.shape()[s.rank() - 1];
  Value inner, outer;  // dA = U inner V^T + outer
  if (c.has_cotangent(1)) inner = diagonal_matrix(c.cotangent(1));
  if (c.has_cotangent(0)) {
    const Value du = c.cotangent(0), turned = product(u, du, true);
    inner = add_defined(inner, inverse_differences(s) * (turned - transpose(turned)) * across);
    const Value beside = (du - product(u, turned)) * inverse_or_zero(across);
    outer = if_longer(rows, values, product(beside, vt));
  }
  if (c.has_cotangent(2)) {
    const Value dvt = c.cotangent(2), turned = product(vt, dvt, false, true);
    inner = add_defined(inner, down * inverse_differences(s) * (turned - transpose(turned)));
    const Value beside = inverse_or_zero(down) * (dvt - product(turned, vt, true));
    outer = add_defined(outer, if_longer(columns, values, product(u, beside)));
  }
  return {add_defined(outer, product(product(u, inner), vt))};
}

}  // namespace

void SvdOps::add(RuleSet& rules) { rules.add("svd", svd_rule); }

}  // namespace weft
