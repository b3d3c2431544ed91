// Gradient of fake_quantize: the straight-through estimator.
#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

std::vector<Value> gradient_fake_quantize(const GradientContext& c) {
  const Value g = c.cotangent();
  if (c.input_count() < 2 || !c.input(1).defined()) return {g};
  // Elements that round to +-127 but are not clamped beyond half a step keep their gradient.
  const Value inside = abs(c.input(0)) <= 127.5 * c.input(1);
  return {where(inside, g, 0)};
}

}  // namespace

void IntegerOps::add(RuleSet& rules) { rules.add("fake_quantize", gradient_fake_quantize); }

}  // namespace weft
