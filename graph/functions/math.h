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
Value neg(Arg x);
/// Absolute value |x|. The gradient at 0 is 0.
Value abs(Arg x);
/// Sign: -1, 0 or 1, or NaN for NaN. No gradient.
Value sign(Arg x);
/// Square: x * x.
Value square(Arg x);
/// Square root; NaN for negative x. The gradient at 0 is infinite.
Value sqrt(Arg x);
/// Reciprocal square root: 1 / sqrt(x).
Value rsqrt(Arg x);
/// Reciprocal: 1 / x.
Value reciprocal(Arg x);

// -- Transcendental ------------------------------------------------------------------------------

/// Exponential function: e to the power of x.
Value exp(Arg x);
/// Natural logarithm; -inf at 0, NaN for negative x.
Value log(Arg x);
/// log(1 + x), accurate near 0.
Value log1p(Arg x);
/// exp(x) - 1, accurate near 0.
Value expm1(Arg x);
/// Sine and cosine (in radians), and hyperbolic tangent.
Value sin(Arg x);
Value cos(Arg x);
Value tanh(Arg x);
/// Error function.
Value erf(Arg x);
/// Inverse error function on [-1, 1]: infinite at both ends, NaN outside. The relative error is
/// 4e-7 for f32, and 1e-14 for f64 if |x| < 0.999.
Value erfinv(Arg x);
/// Logistic sigmoid: 1 / (1 + exp(-x)).
Value sigmoid(Arg x);

// -- Activations. None overflows for large |x| ---------------------------------------------------

/// Rectified linear unit: max(x, 0). NaN stays NaN. The gradient at 0 is 0.
Value relu(Arg x);
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
Value gelu_erf(Arg x);
Value gelu_tanh(Arg x);
/// Sigmoid approximation of GELU: x * sigmoid(1.702 x) (CLIP).
Value quick_gelu(Arg x);
/// Sigmoid linear unit, also called swish: x * sigmoid(x).
Value silu(Arg x);
/// Softplus: log(1 + exp(x)).
Value softplus(Arg x);
/// Mish: x * tanh(softplus(x)) (Misra 2020).
Value mish(Arg x);

// -- Rounding, clamping, conversion --------------------------------------------------------------

/// Rounds down to the largest integer that is at most x. No gradient.
Value floor(Arg x);
/// Rounds up to the smallest integer that is at least x. No gradient.
Value ceil(Arg x);
/// Rounds to the nearest integer, ties to even. No gradient.
Value round(Arg x);
/// min(max(x, lo), hi); an absent bound is not applied. Also accepts integers. NaN stays NaN. The
/// gradient is 1 in [lo, hi], including both ends. Throws ArgumentError unless lo <= hi, and
/// DTypeError if x has an integer dtype and no number of this dtype is in [lo, hi].
Value clamp(Arg x, std::optional<double> lo, std::optional<double> hi = std::nullopt);
/// Converts x to `dtype`; returns x itself if it has this dtype. Floating-point to integer
/// conversion truncates and saturates, and converts NaN to 0. Integers wrap around when converted
/// to narrower integers. Conversion to bool is x != 0.
Value cast(Arg x, DType dtype);
/// Returns a bool tensor that is true for elements that are neither infinite nor NaN.
Value isfinite(Arg x);

// -- Control of differentiation and optimisation -------------------------------------------------

/// Returns x unchanged and blocks gradients. Accepts any dtype.
Value stop_gradient(Arg x);
/// Returns x unchanged. Optimisation passes neither fold nor merge nodes across the barrier.
/// Gradients pass through. Accepts any dtype.
Value optimization_barrier(Arg x);

}  // namespace weft
