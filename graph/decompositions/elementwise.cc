// Composite elementwise ops in terms of simpler ones. The formulas are exact, but lack the
// precautions of the kernels against overflow and loss of accuracy for large arguments.
#include <limits>

#include "weft/core/integer_range.h"
#include "weft/graph/decompositions/decomposition.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"

namespace weft {
namespace {

using Inputs = std::vector<Value>;

Inputs decompose_square(const Node&, const Inputs& in, Graph&) { return {in[0] * in[0]}; }
Inputs decompose_reciprocal(const Node&, const Inputs& in, Graph&) { return {1 / in[0]}; }
Inputs decompose_rsqrt(const Node&, const Inputs& in, Graph&) { return {1 / sqrt(in[0])}; }

Inputs decompose_expm1(const Node&, const Inputs& in, Graph&) { return {exp(in[0]) - 1}; }
Inputs decompose_log1p(const Node&, const Inputs& in, Graph&) { return {log(in[0] + 1)}; }

/// Uses where() instead of maximum(), so that the gradient at 0 is 0, as in the op.
Inputs decompose_relu(const Node&, const Inputs& in, Graph&) {
  return {where(less_equal(in[0], 0), 0, in[0])};
}

Inputs decompose_sigmoid(const Node&, const Inputs& in, Graph&) { return {1 / (exp(-in[0]) + 1)}; }

/// tanh(x) = 2 sigmoid(2x) - 1.
Inputs decompose_tanh(const Node&, const Inputs& in, Graph&) {
  return {2 / (exp(-2 * in[0]) + 1) - 1};
}

Inputs decompose_gelu_erf(const Node&, const Inputs& in, Graph&) {
  const Value x = in[0];
  return {0.5 * x * (erf(x * 0.70710678118654752440) + 1)};
}

Inputs decompose_gelu_tanh(const Node&, const Inputs& in, Graph&) {
  const Value x = in[0];
  const Value u = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
  return {0.5 * x * (tanh(u) + 1)};
}

Inputs decompose_silu(const Node&, const Inputs& in, Graph&) { return {in[0] * sigmoid(in[0])}; }

/// softplus(x) = relu(x) + log(1 + exp(-|x|)).
Inputs decompose_softplus(const Node&, const Inputs& in, Graph&) {
  return {relu(in[0]) + log1p(exp(-abs(in[0])))};
}

/// NaN is preserved because comparisons with NaN are false.
Inputs decompose_clamp(const Node& node, const Inputs& in, Graph&) {
  const double lo = node.attributes().real("lo"), hi = node.attributes().real("hi");
  const double inf = std::numeric_limits<double>::infinity();
  Value x = in[0];
  if (is_integer(x.dtype())) {
    const std::optional<IntegerRange> range = whole_numbers(lo, hi, x.dtype());
    x = where(x < range->low, range->low, x);
    return {where(x > range->high, range->high, x)};
  }
  if (lo != -inf) x = where(x < lo, lo, x);
  if (hi != inf) x = where(x > hi, hi, x);
  return {x};
}

}  // namespace

void add_elementwise_decompositions(DecompositionSet& set) {
  set.add("square", decompose_square);
  set.add("reciprocal", decompose_reciprocal);
  set.add("rsqrt", decompose_rsqrt);
  set.add("expm1", decompose_expm1);
  set.add("log1p", decompose_log1p);
  set.add("relu", decompose_relu);
  set.add("sigmoid", decompose_sigmoid);
  set.add("tanh", decompose_tanh);
  set.add("gelu_erf", decompose_gelu_erf);
  set.add("gelu_tanh", decompose_gelu_tanh);
  set.add("silu", decompose_silu);
  set.add("softplus", decompose_softplus);
  set.add("clamp", decompose_clamp);
}

}  // namespace weft
