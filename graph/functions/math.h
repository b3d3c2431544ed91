// Elementwise functions of one tensor: shape and dtype stay. f32 and f64 unless said otherwise,
// within 4 ULP (activations: of their largest factor). Errors name the operand's type and the
// caller's line. O(elements); chains of them, and the reduction that ends one, are one pass over
// memory, and what stands between is never stored.
#pragma once

#include <optional>

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// -- Signs and powers. neg, abs, sign and square also take integers, which wrap around -----------

/// -x.
Value neg(Arg x);
/// |x|; gradient 0 at 0.
Value abs(Arg x);
/// -1, 0 or 1; NaN stays NaN. No gradient.
Value sign(Arg x);
/// x * x.
Value square(Arg x);
/// NaN below 0; gradient infinite at 0.
Value sqrt(Arg x);
/// 1 / sqrt(x).
Value rsqrt(Arg x);
/// 1 / x.
Value reciprocal(Arg x);

// -- Transcendental ------------------------------------------------------------------------------

/// e to the power of x.
Value exp(Arg x);
/// Natural logarithm: -inf at 0, NaN below.
Value log(Arg x);
/// log(1 + x), accurate near 0.
Value log1p(Arg x);
/// exp(x) - 1, accurate near 0.
Value expm1(Arg x);
/// Sine and cosine of radians; hyperbolic tangent.
Value sin(Arg x);
Value cos(Arg x);
Value tanh(Arg x);
/// Error function.
Value erf(Arg x);
/// Its inverse, for floats in [-1, 1]: infinite at both ends, NaN outside. Relative error 4e-7 for
/// f32, 1e-14 for f64 where |x| < 0.999.
Value erfinv(Arg x);
/// 1 / (1 + exp(-x)).
Value sigmoid(Arg x);

// -- Activations. None overflows for large |x| ---------------------------------------------------

/// max(x, 0); NaN stays NaN; gradient 0 at 0.
Value relu(Arg x);
/// x where x > 0, else slope * x.
Value leaky_relu(Arg x, double slope = 0.01);
/// x where x > 0, else alpha * (exp(x) - 1) (Clevert et al. 2016).
Value elu(Arg x, double alpha = 1.0);

/// The two forms of GELU that published models use: they differ by up to 5e-4.
enum class GeluForm {
  erf,   // x * Phi(x): BERT, ViT
  tanh,  // 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): GPT-2 ("gelu_new")
};
/// x * Phi(x), Phi the standard normal distribution function (Hendrycks and Gimpel 2016).
Value gelu(Arg x, GeluForm form = GeluForm::erf);
/// gelu() of that form.
Value gelu_erf(Arg x);
Value gelu_tanh(Arg x);
/// x * sigmoid(1.702 x) (CLIP).
Value quick_gelu(Arg x);
/// x * sigmoid(x), also called swish.
Value silu(Arg x);
/// log(1 + exp(x)).
Value softplus(Arg x);
/// x * tanh(softplus(x)) (Misra 2020).
Value mish(Arg x);

// -- Rounding, bounds, conversion ----------------------------------------------------------------

/// The largest integer that is not above x, and the smallest that is not below it. No gradient.
Value floor(Arg x);
Value ceil(Arg x);
/// To the nearest integer, ties to even.
Value round(Arg x);
/// min(max(x, lo), hi), an absent bound being none; also for integers. NaN stays NaN; gradient 1
/// from lo to hi, both included. Throws ArgumentError unless lo <= hi, and DTypeError where no
/// number of an integer dtype lies between.
Value clamp(Arg x, std::optional<double> lo, std::optional<double> hi = std::nullopt);
/// x with elements of `dtype` (x itself if it has that dtype). Floats to integers truncate and
/// saturate, NaN gives 0; integers to narrower ones wrap around; to bool is x != 0.
Value cast(Arg x, DType dtype);
/// bool: neither infinite nor NaN.
Value isfinite(Arg x);

// -- For the machinery ---------------------------------------------------------------------------

/// x, any dtype; gradients do not pass.
Value stop_gradient(Arg x);
/// x, any dtype; passes neither fold nor merge across it. Gradients pass.
Value optimization_barrier(Arg x);

}  // namespace weft
