// softmax and log_softmax in primitive ops.
#include "weft/graph/decompositions/decomposition.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"

namespace weft {
namespace {

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

void add_softmax_decompositions(DecompositionSet& set) {
  set.add("softmax", decompose_softmax);
  set.add("log_softmax", decompose_log_softmax);
}

}  // namespace weft
