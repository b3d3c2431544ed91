// Gradient of cast: the cotangent, cast to the operand's dtype. Gradients do not flow through
// integers and bools.
#include "weft/autodiff/rule.h"
#include "weft/graph/functions/math.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

std::vector<Value> gradient_cast(const GradientContext& c) {
  if (!is_floating(c.input(0).dtype()) || !is_floating(c.output().dtype())) return {};
  return {cast(c.cotangent(), c.input(0).dtype())};
}

}  // namespace

void CastOps::add(RuleSet& rules) { rules.add("cast", gradient_cast); }

}  // namespace weft
