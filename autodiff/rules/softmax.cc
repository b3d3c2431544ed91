// Gradients of softmax and log_softmax, computed from their outputs, and their definitions in
// primitive ops.
#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/ops/builtin.h"

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

// -- Definitions ----------------------------------------------------------------------------------

/// Returns x minus its maximum along the axis. The shift cancels in the result, so no gradient
/// flows through it.
Value shifted(const Value& x, int axis) { return x - stop_gradient(max(x, axis, true)); }

bool empty(const Value& x, int axis) { return x.shape()[axis] == Dim(0); }

std::vector<Value> decompose_softmax(const Node& node, const std::vector<Value>& in, Graph&) {
  const int axis = static_cast<int>(node.attributes().integer("axis"));
  if (empty(in[0], axis)) return {in[0]};
  const Value e = exp(shifted(in[0], axis));
  return {e / sum(e, axis, true)};
}

std::vector<Value> decompose_log_softmax(const Node& node, const std::vector<Value>& in, Graph&) {
  const int axis = static_cast<int>(node.attributes().integer("axis"));
  if (empty(in[0], axis)) return {in[0]};
  const Value x = shifted(in[0], axis);
  return {x - log(sum(exp(x), axis, true))};
}

}  // namespace

void SoftmaxOps::add(RuleSet& rules) {
  rules.add("softmax", gradient_softmax);
  rules.add("log_softmax", gradient_log_softmax);
  rules.define("softmax", decompose_softmax);
  rules.define("log_softmax", decompose_log_softmax);
}

}  // namespace weft
