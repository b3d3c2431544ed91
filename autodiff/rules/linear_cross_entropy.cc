// Gradient of linear_cross_entropy: a fused op for the cotangent of the loss, and softmax(logits)
// for the cotangent of lse (log-sum-exp).
#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

// d lse / d logits = softmax(logits). Materialises the full logits, which is acceptable because
// training does not need this gradient.
std::vector<Value> gradient_of_lse(const GradientContext& c) {
  const Value x = c.input(0), weight = c.input(1), bias = c.input(2);
  const bool transposed = c.attributes().flag("transpose_weight");
  Dim count = 1;
  for (const Dim& d : c.output(1).shape()) count *= d;
  const Value flat = reshape(x, Shape{count, x.size(-1)});
  const std::optional<Precision> precision = c.precision();
  const auto multiply = [&](const Value& a, bool transpose_a, const Value& b, bool transpose_b) {
    return matmul(a, b,
                  {.transpose_a = transpose_a, .transpose_b = transpose_b, .precision = precision});
  };
  const Value product = multiply(flat, false, weight, transposed);
  const Value logits = bias.defined() ? product + bias : product;
  const Shape column{count, Dim(1)};
  const Value p = exp(logits - reshape(c.output(1), column)) * reshape(c.cotangent(1), column);
  const Value dx = multiply(p, false, weight, !transposed);
  const Value dweight =
      transposed ? multiply(p, true, flat, false) : multiply(flat, true, p, false);
  return {reshape(dx, x.shape()), dweight, bias.defined() ? sum(p, 0) : Value()};
}

std::vector<Value> gradient_linear_cross_entropy(const GradientContext& c) {
  std::vector<Value> result(3);
  if (c.has_cotangent(0)) {
    Node& node = c.graph().apply(
        "linear_cross_entropy_grad",
        {c.cotangent(), c.input(0), c.input(1), c.input(2), c.input(3), c.output(1)},
        c.attributes());
    result = {node.output(0), node.output(1), c.input(2).defined() ? node.output(2) : Value()};
  }
  if (!c.has_cotangent(1)) return result;
  const std::vector<Value> more = gradient_of_lse(c);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!more[i].defined()) continue;
    result[i] = result[i].defined() ? result[i] + more[i] : more[i];
  }
  return result;
}

}  // namespace

void add_linear_cross_entropy_rules(RuleSet& rules) {
  rules.add("linear_cross_entropy", gradient_linear_cross_entropy);
}

}  // namespace weft
