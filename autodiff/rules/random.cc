#include "weft/autodiff/rule.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

// Dropout is linear in x and its own adjoint: the same key, stream and rate drop the same elements.
std::vector<Value> dropout_gradient(const GradientContext& c) {
  return {c.graph().apply("dropout", {c.cotangent(), c.input(1)}, c.attributes()).output(0)};
}

}  // namespace

void RandomOps::add(RuleSet& rules) { rules.add("dropout", dropout_gradient); }

}  // namespace weft
