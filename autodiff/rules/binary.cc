// Gradients of elementwise ops with several operands. The rules return gradients of the broadcast
// shape; the gradient transform reduces them to the operands' shapes.
#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

using Gradients = std::vector<Value>;

Gradients gradient_add(const GradientContext& c) { return {c.cotangent(), c.cotangent()}; }

Gradients gradient_sub(const GradientContext& c) {
  Gradients g(2);
  if (c.needs(0)) g[0] = c.cotangent();
  if (c.needs(1)) g[1] = neg(c.cotangent());
  return g;
}

Gradients gradient_mul(const GradientContext& c) {
  Gradients g(2);
  if (c.needs(0)) g[0] = c.cotangent() * c.input(1);
  if (c.needs(1)) g[1] = c.cotangent() * c.input(0);
  return g;
}

/// Derivatives 1 / b and -a / b^2.
Gradients gradient_div(const GradientContext& c) {
  Gradients g(2);
  const Value by_a = c.cotangent() / c.input(1);
  if (c.needs(0)) g[0] = by_a;
  if (c.needs(1)) g[1] = neg(by_a * c.output());
  return g;
}

/// The derivative with respect to a is b a^(b-1), and 0 if b is 0. The derivative with respect to b
/// is a^b log(a), and 0 if a is 0 and b >= 0, because 0^b is constant for b > 0.
Gradients gradient_pow(const GradientContext& c) {
  const Value a = c.input(0), b = c.input(1);
  Gradients g(2);
  if (c.needs(0)) {
    // Use 1 instead of a if the gradient is 0 anyway: 0^-1 would turn second derivatives into NaN.
    const Value none = equal(b, 0);
    g[0] = where(none, 0, c.cotangent() * (b * pow(where(none, 1, a), b - 1)));
  }
  if (c.needs(1)) {
    // Use log(1) instead of log(0) if the gradient is 0 anyway, so that second derivatives stay
    // finite.
    const Value flat = logical_and(equal(a, 0), b >= 0);
    g[1] = where(flat, 0, c.cotangent() * (c.output() * log(where(flat, 1, a))));
  }
  return g;
}

/// The selected operand receives the whole gradient; at ties, each receives half. `chosen(a, b)` is
/// true if a is selected.
Gradients share(const GradientContext& c, Value (*chosen)(Arg, Arg)) {
  const Value a = c.input(0), b = c.input(1), g = c.cotangent();
  const Value tied = where(equal(a, b), 0.5 * g, 0);
  Gradients result(2);
  if (c.needs(0)) result[0] = where(chosen(a, b), g, tied);
  if (c.needs(1)) result[1] = where(chosen(b, a), g, tied);
  return result;
}

Gradients gradient_maximum(const GradientContext& c) { return share(c, greater); }
Gradients gradient_minimum(const GradientContext& c) { return share(c, less); }

Gradients gradient_where(const GradientContext& c) {
  Gradients g(3);
  if (c.needs(1)) g[1] = where(c.input(0), c.cotangent(), 0);
  if (c.needs(2)) g[2] = where(c.input(0), 0, c.cotangent());
  return g;
}

}  // namespace

void BinaryOps::add(RuleSet& rules) {
  rules.add("add", gradient_add);
  rules.add("sub", gradient_sub);
  rules.add("mul", gradient_mul);
  rules.add("div", gradient_div);
  rules.add("pow", gradient_pow);
  rules.add("maximum", gradient_maximum);
  rules.add("minimum", gradient_minimum);
  rules.add("where", gradient_where);
}

}  // namespace weft
