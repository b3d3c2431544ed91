// Gradient of rope: the adjoint of a rotation is the inverse rotation.
#include "weft/autodiff/rule.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

std::vector<Value> gradient_rope(const GradientContext& c) {
  Attributes attributes = c.attributes();
  attributes.set("inverse", !attributes.flag("inverse"));
  return {c.graph().apply("rope", {c.cotangent(), c.input(1)}, std::move(attributes)).output(0)};
}

}  // namespace

void RopeOps::add(RuleSet& rules) { rules.add("rope", gradient_rope); }

}  // namespace weft
