#include "weft/autodiff/rule.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

std::vector<Value> barrier(const GradientContext& c) { return {c.cotangent()}; }

// Attaches the update to the gradient as well, so that a program that computes a gradient through
// x, but not x itself, still updates the variable.
std::vector<Value> with_update(const GradientContext& c) {
  return {c.graph().apply("with_update", {c.cotangent(), c.input(1), c.input(2)}).output(0),
          Value(), Value()};
}

}  // namespace

void LeafOps::add(RuleSet& rules) {
  rules.add("optimization_barrier", barrier);
  rules.add("with_update", with_update);
}

}  // namespace weft
