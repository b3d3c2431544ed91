// Gradients of elementwise ops with one operand: cotangent times derivative, computed from the
// output if that is cheaper.
#include <limits>

#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"

namespace weft {
namespace {

using Gradients = std::vector<Value>;

Gradients gradient_neg(const GradientContext& c) { return {neg(c.cotangent())}; }

/// Derivative: sign(x), which is 0 at 0.
Gradients gradient_abs(const GradientContext& c) { return {c.cotangent() * sign(c.input(0))}; }

Gradients gradient_square(const GradientContext& c) { return {c.cotangent() * (2 * c.input(0))}; }

/// Derivative: 1 / (2 sqrt(x)).
Gradients gradient_sqrt(const GradientContext& c) { return {0.5 * c.cotangent() / c.output()}; }

/// Derivative: -x^(-3/2) / 2.
Gradients gradient_rsqrt(const GradientContext& c) {
  const Value y = c.output();
  return {c.cotangent() * (-0.5 * (y * y * y))};
}

/// Derivative: -1 / x^2.
Gradients gradient_reciprocal(const GradientContext& c) {
  return {neg(c.cotangent() * square(c.output()))};
}

Gradients gradient_exp(const GradientContext& c) { return {c.cotangent() * c.output()}; }
Gradients gradient_log(const GradientContext& c) { return {c.cotangent() / c.input(0)}; }
Gradients gradient_log1p(const GradientContext& c) { return {c.cotangent() / (c.input(0) + 1)}; }

/// Computes e^x again instead of using output + 1, which loses digits for very negative x.
Gradients gradient_expm1(const GradientContext& c) { return {c.cotangent() * exp(c.input(0))}; }

Gradients gradient_sin(const GradientContext& c) { return {c.cotangent() * cos(c.input(0))}; }
Gradients gradient_cos(const GradientContext& c) { return {neg(c.cotangent() * sin(c.input(0)))}; }

Gradients gradient_tanh(const GradientContext& c) {
  return {c.cotangent() * (1 - square(c.output()))};
}

/// Derivative: 2/sqrt(pi) exp(-x^2).
Gradients gradient_erf(const GradientContext& c) {
  const Value bell = exp(neg(square(c.input(0))));
  return {c.cotangent() * (1.12837916709551257390 * bell)};
}

Gradients gradient_sigmoid(const GradientContext& c) {
  const Value y = c.output();
  return {c.cotangent() * (y * (1 - y))};
}

/// Derivative: 1 if x > 0, otherwise 0 (also at 0). Uses where() instead of a product, because 0
/// times an infinite cotangent is NaN.
Gradients gradient_relu(const GradientContext& c) {
  return {where(c.input(0) > 0, c.cotangent(), 0)};
}

// Range to which gated functions (x times a gate) clamp x. For larger |x|, their derivatives are
// exactly 1 or 0 in floating point, but the formulas would multiply large numbers or infinity by 0.
constexpr double kSettled = 1000;

/// Derivative: Phi(x) + x phi(x).
Gradients gradient_gelu_erf(const GradientContext& c) {
  const Value x = clamp(c.input(0), -kSettled, kSettled);
  const Value cdf = 0.5 * (erf(x * 0.70710678118654752440) + 1);
  const Value density = 0.39894228040143267794 * exp(-0.5 * square(x));
  return {c.cotangent() * (cdf + x * density)};
}

/// Derivative: s + x s (1 - s) 2u' with s = sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3).
Gradients gradient_gelu_tanh(const GradientContext& c) {
  const Value x = clamp(c.input(0), -kSettled, kSettled), x2 = square(x);
  constexpr double k = 2 * 0.79788456080286535588;
  const Value s = sigmoid(x * (x2 * (k * 0.044715) + k));
  const Value slope = x2 * (3 * k * 0.044715) + k;
  return {c.cotangent() * (s + s * (1 - s) * (x * slope))};
}

/// Derivative: s (1 + x (1 - s)) with s = sigmoid(x).
Gradients gradient_silu(const GradientContext& c) {
  const Value x = clamp(c.input(0), -kSettled, kSettled), s = sigmoid(x);
  return {c.cotangent() * (s * (x * (1 - s) + 1))};
}

Gradients gradient_softplus(const GradientContext& c) {
  return {c.cotangent() * sigmoid(c.input(0))};
}

/// Derivative: 1 in [lo, hi], including both bounds, and 0 outside.
Gradients gradient_clamp(const GradientContext& c) {
  const double lo = c.attributes().real("lo"), hi = c.attributes().real("hi");
  const double inf = std::numeric_limits<double>::infinity();
  Value g = c.cotangent();
  if (lo != -inf) g = where(c.input(0) >= lo, g, 0);
  if (hi != inf) g = where(c.input(0) <= hi, g, 0);
  return {g};
}

}  // namespace

void add_unary_rules(RuleSet& rules) {
  rules.add("neg", gradient_neg);
  rules.add("abs", gradient_abs);
  rules.add("square", gradient_square);
  rules.add("sqrt", gradient_sqrt);
  rules.add("rsqrt", gradient_rsqrt);
  rules.add("reciprocal", gradient_reciprocal);
  rules.add("exp", gradient_exp);
  rules.add("log", gradient_log);
  rules.add("log1p", gradient_log1p);
  rules.add("expm1", gradient_expm1);
  rules.add("sin", gradient_sin);
  rules.add("cos", gradient_cos);
  rules.add("tanh", gradient_tanh);
  rules.add("erf", gradient_erf);
  rules.add("sigmoid", gradient_sigmoid);
  rules.add("relu", gradient_relu);
  rules.add("gelu_erf", gradient_gelu_erf);
  rules.add("gelu_tanh", gradient_gelu_tanh);
  rules.add("silu", gradient_silu);
  rules.add("softplus", gradient_softplus);
  rules.add("clamp", gradient_clamp);
}

}  // namespace weft
