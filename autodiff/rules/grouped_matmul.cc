#include "weft/graph/functions/linalg/grouped_matmul.h"

#include "weft/autodiff/rule.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

// For Y = X W in each group: dX = dY W^T and dW = X^T dY, or dY^T X if W is transposed.
std::vector<Value> grouped_matmul_rule(const GradientContext& c) {
  const bool transposed = c.attributes().flag("transpose_w");
  const Value x = c.input(0), w = c.input(1), sizes = c.input(2), g = c.cotangent();
  const std::optional<Precision> precision = c.precision();
  std::vector<Value> result(2);
  if (c.needs(0)) {
    result[0] = grouped_matmul(g, w, sizes, {.transpose_w = !transposed, .precision = precision});
  }
  if (c.needs(1)) {
    result[1] = grouped_outer(transposed ? g : x, transposed ? x : g, sizes, precision);
  }
  return result;
}

// For C = A^T B in each group: dA = B dC^T and dB = A dC.
std::vector<Value> grouped_outer_rule(const GradientContext& c) {
  const Value a = c.input(0), b = c.input(1), sizes = c.input(2), g = c.cotangent();
  const std::optional<Precision> precision = c.precision();
  return {c.needs(0) ? grouped_matmul(b, g, sizes, {.transpose_w = true, .precision = precision})
                     : Value(),
          c.needs(1) ? grouped_matmul(a, g, sizes, {.precision = precision}) : Value()};
}

}  // namespace

void GroupedMatmulOps::add(RuleSet& rules) {
  rules.add("grouped_matmul", grouped_matmul_rule);
  rules.add("grouped_outer", grouped_outer_rule);
}

}  // namespace weft
