// Gradient of cross_entropy: a fused op for the cotangent of the loss, and softmax(logits) for the
// cotangent of lse (log-sum-exp).
#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

std::vector<Value> gradient_cross_entropy(const GradientContext& c) {
  const Value logits = c.input(0), lse = c.output(1);
  Value dx;
  if (c.has_cotangent(0)) {
    dx = c.graph()
             .apply("cross_entropy_grad", {c.cotangent(), logits, c.input(1), lse}, c.attributes())
             .output(0);
  }
  if (c.has_cotangent(1)) {  // d lse / dx = softmax(x)
    const int axis = static_cast<int>(c.attributes().integer("axis"));
    const Value p = exp(logits - unsqueeze(lse, axis));
    const Value term = unsqueeze(c.cotangent(1), axis) * p;
    dx = dx.defined() ? dx + term : term;
  }
  return {dx};
}

}  // namespace

void add_cross_entropy_rules(RuleSet& rules) { rules.add("cross_entropy", gradient_cross_entropy); }

}  // namespace weft
