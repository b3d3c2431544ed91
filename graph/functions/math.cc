#include "weft/graph/functions/math.h"

#include <limits>

#include "weft/core/error.h"
#include "weft/core/option.h"
#include "weft/graph/functions/arithmetic.h"

namespace weft {
namespace {

void require_finite(const Value& x, std::string_view function, std::string_view option,
                    double value, SourceLocation loc) {
  const std::string error = option_error(option, value, Allowed::finite);
  if (!error.empty()) x.graph().fail(ArgumentError(error), function, {x}, loc);
}

}  // namespace

Value gelu(Arg x, GeluForm form) {
  return apply_unary(form == GeluForm::erf ? "gelu_erf" : "gelu_tanh", x);
}

Value leaky_relu(Arg x, double slope) {
  const Value v = x.value("leaky_relu");
  require_finite(v, "leaky_relu", "slope", slope, x.location());
  const Graph::Frame frame(v.graph(), "leaky_relu", x.location());
  return where(v > 0, v, v * slope);
}

Value elu(Arg x, double alpha) {
  const Value v = x.value("elu");
  require_finite(v, "elu", "alpha", alpha, x.location());
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
