// Elementwise functions of one tensor. The result has the shape and dtype of x. Unless noted
// otherwise, x is f32 or f64 and results are accurate to 4 ULP (activations: 4 ULP of their largest
// factor). Errors name the operand's type and the caller's source line. All are O(elements). Chains
// of elementwise functions, including a reduction at the end, are fused into one pass over memory,
// and intermediate results are not stored.
#pragma once

#include <optional>

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// -- Signs and powers. neg, abs, sign and square also accept integers, which wrap around ---------

/// Negation: -x.
inline Value neg(Arg x) { return apply_unary("neg", x); }
/// Absolute value |x|. The gradient at 0 is 0.
inline Value abs(Arg x) { return apply_unary("abs", x); }
/// Sign: -1, 0 or 1, or NaN for NaN. No gradient.
inline Value sign(Arg x) { return apply_unary("sign", x); }
/// Square: x * x.
inline Value square(Arg x) { return apply_unary("square", x); }
/// Square root; NaN for negative x. The gradient at 0 is infinite.
inline Value sqrt(Arg x) { return apply_unary("sqrt", x); }
/// Reciprocal square root: 1 / sqrt(x).
inline Value rsqrt(Arg x) { return apply_unary("rsqrt", x); }
/// Reciprocal: 1 / x.
inline Value reciprocal(Arg x) { return apply_unary("reciprocal", x); }

// -- Transcendental ------------------------------------------------------------------------------

/// Exponential function: e to the power of x.
inline Value exp(Arg x) { return apply_unary("exp", x); }
/// Natural logarithm; -inf at 0, NaN for negative x.
inline Value log(Arg x) { return apply_unary("log", x); }
/// log(1 + x), accurate near 0.
inline Value log1p(Arg x) { return apply_unary("log1p", x); }
/// exp(x) - 1, accurate near 0.
inline Value expm1(Arg x) { return apply_unary("expm1", x); }
/// Sine and cosine (in radians), and hyperbolic tangent.
inline Value sin(Arg x) { return apply_unary("sin", x); }
inline Value cos(Arg x) { return apply_unary("cos", x); }
inline Value tanh(Arg x) { return apply_unary("tanh", x); }
/// Error function.
inline Value erf(Arg x) { return apply_unary("erf", x); }
/// Inverse error function on [-1, 1]: infinite at both ends, NaN outside. The relative error is
/// 4e-7 for f32, and 1e-14 for f64 if |x| < 0.999.
Value erfinv(Arg x);
/// Logistic sigmoid: 1 / (1 + exp(-x)).
inline Value sigmoid(Arg x) { return apply_unary("sigmoid", x); }

// -- Activations. None overflows for large |x| ---------------------------------------------------

/// Rectified linear unit: max(x, 0). NaN stays NaN. The gradient at 0 is 0.
inline Value relu(Arg x) { return apply_unary("relu", x); }
/// Leaky ReLU: x if x > 0, else slope * x.
Value leaky_relu(Arg x, double slope = 0.01);
/// Exponential linear unit: x if x > 0, else alpha * (exp(x) - 1) (Clevert et al. 2016).
Value elu(Arg x, double alpha = 1.0);

/// The two forms of GELU in published models. They differ by up to 5e-4.
enum class GeluForm {
  erf,   // x * Phi(x): BERT, ViT
  tanh,  // 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): GPT-2 ("gelu_new")
};
/// x * Phi(x), where Phi is the standard normal distribution function (Hendrycks and Gimpel 2016).
Value gelu(Arg x, GeluForm form = GeluForm::erf);
/// gelu() with GeluForm::erf or GeluForm::tanh.
inline Value gelu_erf(Arg x) { return apply_unary("gelu_erf", x); }
inline Value gelu_tanh(Arg x) { return apply_unary("gelu_tanh", x); }
/// Sigmoid approximation of GELU: x * sigmoid(1.702 x) (CLIP).
Value quick_gelu(Arg x);
/// Sigmoid linear unit, also called swish: x * sigmoid(x).
inline Value silu(Arg x) { return apply_unary("silu", x); }
/// Hard swish, a piecewise approximation of silu(): x * clamp(x + 3, 0, 6) / 6 (Howard et al.
/// 2019).
inline Value hardswish(Arg x) { return apply_unary("hardswish", x); }
/// Softplus: log(1 + exp(x)).
inline Value softplus(Arg x) { return apply_unary("softplus", x); }
/// Mish: x * tanh(softplus(x)) (Misra 2020).
Value mish(Arg x);

// -- Rounding, clamping, conversion --------------------------------------------------------------

/// Rounds down to the largest integer that is at most x. No gradient.
inline Value floor(Arg x) { return apply_unary("floor", x); }
/// Rounds up to the smallest integer that is at least x. No gradient.
inline Value ceil(Arg x) { return apply_unary("ceil", x); }
/// Rounds to the nearest integer, ties to even. No gradient.
inline Value round(Arg x) { return apply_unary("round", x); }
/// min(max(x, lo), hi); an absent bound is not applied. Also accepts integers. NaN stays NaN. The
/// gradient is 1 in [lo, hi], including both ends. Throws ArgumentError unless lo <= hi, and
/// DTypeError if x has an integer dtype and no number of this dtype is in [lo, hi].
Value clamp(Arg x, std::optional<double> lo, std::optional<double> hi = std::nullopt);
/// Converts x to `dtype`; returns x itself if it has this dtype. Floating-point to integer
/// conversion truncates and saturates, and converts NaN to 0. Integers wrap around when converted
/// to narrower integers. Conversion to bool is x != 0.
Value cast(Arg x, DType dtype);
/// Returns a bool tensor that is true for elements that are neither infinite nor NaN.
inline Value isfinite(Arg x) { return apply_unary("isfinite", x); }

// -- Control of differentiation and optimisation -------------------------------------------------

/// Returns x unchanged and blocks gradients. Accepts any dtype.
inline Value stop_gradient(Arg x) { return apply_unary("stop_gradient", x); }
/// Returns x unchanged. Optimisation passes neither fold nor merge nodes across the barrier.
/// Gradients pass through. Accepts any dtype.
inline Value optimization_barrier(Arg x) { return apply_unary("optimization_barrier", x); }

}  // namespace weft
