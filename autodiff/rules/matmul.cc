#include "weft/autodiff/rule.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

// Merges all axes but the last into one.
Value as_rows(Value v) {
  Dim rows = 1;
  for (int i = 0; i + 1 < v.rank(); ++i) rows *= v.shape()[i];
  return reshape(v, Shape{rows, v.shape()[v.rank() - 1]});
}

// For C = A B: dA = G B^T and dB = A^T G. The gradient of a transposed operand is transposed. The
// transpose flags of matmul cover all cases, so nothing is transposed in memory. Broadcast batch
// axes are summed.
std::vector<Value> matmul_gradient(const GradientContext& c) {
  const bool ta = c.attributes().flag("transpose_a"), tb = c.attributes().flag("transpose_b");
  const Value a = c.input(0), b = c.input(1), g = c.cotangent();
  const std::optional<Precision> precision = c.precision();
  const auto product = [&](Value left, bool transpose_left, Value right, bool transpose_right) {
    return matmul(
        left, right,
        {.transpose_a = transpose_left, .transpose_b = transpose_right, .precision = precision});
  };
  std::vector<Value> result(2);
  if (c.needs(0)) {
    const Value da = ta ? product(b, tb, g, true) : product(g, false, b, !tb);
    result[0] = sum_to(da, a.shape());
  }
  if (c.needs(1)) {
    // If a single matrix b is applied to all rows of a (a linear layer), use one product over all
    // rows instead of a sum of per-batch products.
    const bool rows = b.rank() == 2 && a.rank() > 2 && !ta;
    const Value left = rows ? as_rows(a) : a, right = rows ? as_rows(g) : g;
    const Value db = tb ? product(right, true, left, ta) : product(left, !ta, right, false);
    result[1] = sum_to(db, b.shape());
  }
  return result;
}

}  // namespace

void MatmulOps::add(RuleSet& rules) { rules.add("matmul", matmul_gradient); }

}  // namespace weft
