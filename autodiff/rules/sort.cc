#include "weft/autodiff/rule.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/shape.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

// The output values are the elements of x at the output indices, so the gradient is a scatter.
std::vector<Value> picked_rule(const GradientContext& c) {
  if (!c.has_cotangent(0)) return {};
  const int axis = static_cast<int>(c.attributes().integer("axis"));
  return {scatter_add(zeros_like(c.input(0)), c.output(1), c.cotangent(0), axis)};
}

}  // namespace

void SortOps::add(RuleSet& rules) {
  rules.add("topk", picked_rule);
  rules.add("sort", picked_rule);
}

}  // namespace weft
