// Gradients of softmax and log_softmax, computed from their outputs.
#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"

namespace weft {
namespace {

/// Returns y * (g - sum(g * y)).
std::vector<Value> gradient_softmax(const GradientContext& c) {
  const int axis = static_cast<int>(c.attributes().integer("axis"));
  const Value y = c.output(), g = c.cotangent();
  return {y * (g - sum(g * y, axis, true))};
}

/// Returns g - exp(y) * sum(g).
std::vector<Value> gradient_log_softmax(const GradientContext& c) {
  const int axis = static_cast<int>(c.attributes().integer("axis"));
  const Value g = c.cotangent();
  return {g - exp(c.output()) * sum(g, axis, true)};
}

}  // namespace

void add_softmax_rules(RuleSet& rules) {
  rules.add("softmax", gradient_softmax);
  rules.add("log_softmax", gradient_log_softmax);
}

}  // namespace weft
