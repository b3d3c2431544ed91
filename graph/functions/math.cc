#include "weft/graph/functions/math.h"

#include <limits>

#include "weft/graph/functions/arithmetic.h"

namespace weft {

Value neg(Arg x) { return apply_unary("neg", x); }
Value abs(Arg x) { return apply_unary("abs", x); }
Value sign(Arg x) { return apply_unary("sign", x); }
Value square(Arg x) { return apply_unary("square", x); }
Value sqrt(Arg x) { return apply_unary("sqrt", x); }
Value rsqrt(Arg x) { return apply_unary("rsqrt", x); }
Value reciprocal(Arg x) { return apply_unary("reciprocal", x); }
Value exp(Arg x) { return apply_unary("exp", x); }
Value log(Arg x) { return apply_unary("log", x); }
Value log1p(Arg x) { return apply_unary("log1p", x); }
Value expm1(Arg x) { return apply_unary("expm1", x); }
Value sin(Arg x) { return apply_unary("sin", x); }
Value cos(Arg x) { return apply_unary("cos", x); }
Value tanh(Arg x) { return apply_unary("tanh", x); }
Value erf(Arg x) { return apply_unary("erf", x); }
Value sigmoid(Arg x) { return apply_unary("sigmoid", x); }
Value relu(Arg x) { return apply_unary("relu", x); }
Value gelu_erf(Arg x) { return apply_unary("gelu_erf", x); }
Value gelu_tanh(Arg x) { return apply_unary("gelu_tanh", x); }
Value silu(Arg x) { return apply_unary("silu", x); }
Value softplus(Arg x) { return apply_unary("softplus", x); }
Value floor(Arg x) { return apply_unary("floor", x); }
Value ceil(Arg x) { return apply_unary("ceil", x); }
Value round(Arg x) { return apply_unary("round", x); }
Value isfinite(Arg x) { return apply_unary("isfinite", x); }
Value stop_gradient(Arg x) { return apply_unary("stop_gradient", x); }
Value optimization_barrier(Arg x) { return apply_unary("optimization_barrier", x); }

Value gelu(Arg x, GeluForm form) {
  return apply_unary(form == GeluForm::erf ? "gelu_erf" : "gelu_tanh", x);
}

Value leaky_relu(Arg x, double slope) {
  const Value v = x.value("leaky_relu");
  const Graph::Frame frame(v.graph(), "leaky_relu", x.location());
  return where(v > 0, v, v * slope);
}

Value elu(Arg x, double alpha) {
  const Value v = x.value("elu");
  const Graph::Frame frame(v.graph(), "elu", x.location());
  // The minimum keeps exp(x) finite for elements that are not selected; otherwise 0 * inf would
  // make the gradient NaN.
  return where(v > 0, v, alpha * expm1(minimum(v, 0)));
}

Value quick_gelu(Arg x) {
  const Value v = x.value("quick_gelu");
  const Graph::Frame frame(v.graph(), "quick_gelu", x.location());
  return v * sigmoid(1.702 * v);
}

Value mish(Arg x) {
  const Value v = x.value("mish");
  const Graph::Frame frame(v.graph(), "mish", x.location());
  return v * tanh(softplus(v));
}

Value clamp(Arg x, std::optional<double> lo, std::optional<double> hi) {
  const double inf = std::numeric_limits<double>::infinity();
  return apply_unary("clamp", x, {{"lo", lo.value_or(-inf)}, {"hi", hi.value_or(inf)}});
}

Value cast(Arg x, DType dtype) {
  const Value v = x.value("cast");
  return v.dtype() == dtype ? v : apply_unary("cast", x, {{"dtype", dtype}});
}

}  // namespace weft
