#include "weft/autodiff/rule.h"

namespace weft {
namespace {

std::vector<Value> barrier(const GradientContext& c) { return {c.cotangent()}; }

// Who computes a gradient through x computes x's layer, too, even where x itself is not needed.
std::vector<Value> with_update(const GradientContext& c) {
  return {c.graph().apply("with_update", {c.cotangent(), c.input(1), c.input(2)}).output(0),
          Value(), Value()};
}

}  // namespace

void add_leaf_rules(RuleSet& rules) {
  rules.add("optimization_barrier", barrier);
  rules.add("with_update", with_update);
}

}  // namespace weft
