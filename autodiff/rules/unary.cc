// Gradients of elementwise ops with one operand: cotangent times derivative, computed from the
// output if that is cheaper. Definitions of composite ops in terms of simpler ones. The definitions
// are exact, but lack the precautions of the kernels against overflow and loss of accuracy for
// large arguments.
#include <limits>

#include "weft/autodiff/rule.h"
#include "weft/core/integer_range.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

/// The rules of an op without attributes.
struct UnaryRule {
  const char* op;
  /// Returns the gradient of the operand x for the cotangent g and the result y.
  Value (*gradient)(Value g, Value x, Value y);
  /// Returns the result for the operand x. Null for primitive ops.
  Value (*define)(Value x) = nullptr;
};

// Range to which gated functions (x times a gate) clamp x. For larger |x|, their derivatives are
// exactly 1 or 0 in floating point, but the formulas would multiply large numbers or infinity by 0.
constexpr double kSettled = 1000;

/// Derivative: Phi(x) + x phi(x).
Value gradient_gelu_erf(Value g, Value operand, Value) {
  const Value x = clamp(operand, -kSettled, kSettled);
  const Value cdf = 0.5 * (erf(x * 0.70710678118654752440) + 1);
  const Value density = 0.39894228040143267794 * exp(-0.5 * square(x));
  return g * (cdf + x * density);
}

/// Derivative: s + x s (1 - s) 2u' with s = sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3).
Value gradient_gelu_tanh(Value g, Value operand, Value) {
  const Value x = clamp(operand, -kSettled, kSettled), x2 = square(x);
  constexpr double k = 2 * 0.79788456080286535588;
  const Value s = sigmoid(x * (x2 * (k * 0.044715) + k));
  const Value slope = x2 * (3 * k * 0.044715) + k;
  return g * (s + s * (1 - s) * (x * slope));
}

Value define_gelu_tanh(Value x) {
  const Value u = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
  return 0.5 * x * (tanh(u) + 1);
}

/// Derivative: s (1 + x (1 - s)) with s = sigmoid(x).
Value gradient_silu(Value g, Value operand, Value) {
  const Value x = clamp(operand, -kSettled, kSettled), s = sigmoid(x);
  return g * (s * (x * (1 - s) + 1));
}

/// Derivative: 2/sqrt(pi) exp(-x^2).
Value gradient_erf(Value g, Value x, Value) {
  const Value bell = exp(neg(square(x)));
  return g * (1.12837916709551257390 * bell);
}

/// Derivative: 0 for x <= -3, 1 for x >= 3, and x/3 + 1/2 between.
Value gradient_hardswish(Value g, Value x, Value) {
  return where(x <= -3, 0, where(x < 3, g * (x / 3 + 0.5), g));
}

const UnaryRule kRules[] = {
    {"neg", [](Value g, Value, Value) { return neg(g); }},
    {"abs", [](Value g, Value x, Value) { return g * sign(x); }},  // 0 at 0
    {"square", [](Value g, Value x, Value) { return g * (2 * x); }, [](Value x) { return x * x; }},
    {"sqrt", [](Value g, Value, Value y) { return 0.5 * g / y; }},
    {"rsqrt", [](Value g, Value, Value y) { return g * (-0.5 * (y * y * y)); },
     [](Value x) { return 1 / sqrt(x); }},
    {"reciprocal", [](Value g, Value, Value y) { return neg(g * square(y)); },
     [](Value x) { return 1 / x; }},
    {"exp", [](Value g, Value, Value y) { return g * y; }},
    {"log", [](Value g, Value x, Value) { return g / x; }},
    {"log1p", [](Value g, Value x, Value) { return g / (x + 1); },
     [](Value x) { return log(x + 1); }},
    // Computes e^x again instead of using y + 1, which loses digits for very negative x.
    {"expm1", [](Value g, Value x, Value) { return g * exp(x); },
     [](Value x) { return exp(x) - 1; }},
    {"sin", [](Value g, Value x, Value) { return g * cos(x); }},
    {"cos", [](Value g, Value x, Value) { return neg(g * sin(x)); }},
    // tanh(x) = 2 sigmoid(2x) - 1.
    {"tanh", [](Value g, Value, Value y) { return g * (1 - square(y)); },
     [](Value x) { return 2 / (exp(-2 * x) + 1) - 1; }},
    {"erf", gradient_erf},
    {"sigmoid", [](Value g, Value, Value y) { return g * (y * (1 - y)); },
     [](Value x) { return 1 / (exp(-x) + 1); }},
    // The derivative is 1 if x > 0, otherwise 0 (also at 0). Uses where() instead of a product,
    // because 0 times an infinite cotangent is NaN, and instead of maximum(), whose gradient at 0
    // is not 0.
    {"relu", [](Value g, Value x, Value) { return where(x > 0, g, 0); },
     [](Value x) { return where(less_equal(x, 0), 0, x); }},
    {"gelu_erf", gradient_gelu_erf,
     [](Value x) { return 0.5 * x * (erf(x * 0.70710678118654752440) + 1); }},
    {"gelu_tanh", gradient_gelu_tanh, define_gelu_tanh},
    {"silu", gradient_silu, [](Value x) { return x * sigmoid(x); }},
    {"hardswish", gradient_hardswish, [](Value x) { return x * clamp(x + 3, 0, 6) / 6; }},
    {"softplus", [](Value g, Value x, Value) { return g * sigmoid(x); },
     [](Value x) { return relu(x) + log1p(exp(-abs(x))); }},
};

/// Derivative: 1 in [lo, hi], including both bounds, and 0 outside.
std::vector<Value> gradient_clamp(const GradientContext& c) {
  const double lo = c.attributes().real("lo"), hi = c.attributes().real("hi");
  const double inf = std::numeric_limits<double>::infinity();
  Value g = c.cotangent();
  if (lo != -inf) g = where(c.input(0) >= lo, g, 0);
  if (hi != inf) g = where(c.input(0) <= hi, g, 0);
  return {g};
}

/// NaN is preserved because comparisons with NaN are false.
std::vector<Value> define_clamp(const Node& node, const std::vector<Value>& in, Graph&) {
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

void UnaryOps::add(RuleSet& rules) {
  for (const UnaryRule& rule : kRules) {
    rules.add(rule.op, [gradient = rule.gradient](const GradientContext& c) {
      return std::vector<Value>{gradient(c.cotangent(), c.input(0), c.output())};
    });
    if (rule.define == nullptr) continue;
    rules.define(rule.op,
                 [define = rule.define](const Node&, const std::vector<Value>& in, Graph&) {
                   return std::vector<Value>{define(in[0])};
                 });
  }
  rules.add("clamp", gradient_clamp);
  rules.define("clamp", define_clamp);
}

}  // namespace weft
