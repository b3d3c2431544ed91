// Records of elementwise ops with one operand.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "weft/ops/builtin.h"
#include "weft/ops/elementwise.h"
#include "weft/ops/kernels/math.h"
#include "weft/ops/kernels/unary.h"

namespace weft {
namespace {

using elementwise::at;
using elementwise::sample_values;
using kernels::ActivationOp;
using kernels::MathOp;
using kernels::UnaryOp;

using RowFunction = void (*)(DType dtype, const void* in, void* out, std::int64_t n);

Kernel make_row_kernel(const KernelRequest& request, double ns_per_element, RowFunction row) {
  const DType in = request.inputs[0].dtype, out = request.outputs[0].dtype;
  return elementwise::make_kernel(request.outputs[0].numel(), ns_per_element,
                                  [=](const KernelRun& run, std::int64_t begin, std::int64_t end) {
                                    row(in, at(run.inputs[0], begin, dtype_size(in)),
                                        at(run.outputs[0], begin, dtype_size(out)), end - begin);
                                  });
}

// Nanoseconds per float on one core, roughly: the first is what memory allows.
constexpr double kExactNs = 0.3, kMathNs = 1.0;

template <UnaryOp op>
Kernel make_exact(const KernelRequest& request) {
  return make_row_kernel(request, kExactNs,
                         [](DType dtype, const void* in, void* out, std::int64_t n) {
                           kernels::unary_row(op, dtype, in, out, n);
                         });
}

template <MathOp op>
Kernel make_math(const KernelRequest& request) {
  return make_row_kernel(request, kMathNs,
                         [](DType dtype, const void* in, void* out, std::int64_t n) {
                           kernels::math_row(op, dtype, in, out, n);
                         });
}

template <ActivationOp op>
Kernel make_activation(const KernelRequest& request) {
  return make_row_kernel(request, kMathNs,
                         [](DType dtype, const void* in, void* out, std::int64_t n) {
                           kernels::activation_row(op, dtype, in, out, n);
                         });
}

Kernel make_isfinite(const KernelRequest& request) {
  return make_row_kernel(request, kExactNs, kernels::isfinite_row);
}

Kernel make_logical_not(const KernelRequest& request) {
  return make_row_kernel(request, kExactNs, [](DType, const void* in, void* out, std::int64_t n) {
    kernels::logical_not_row(in, out, n);
  });
}

Kernel make_clamp(const KernelRequest& request) {
  const double lo = request.attributes.real("lo"), hi = request.attributes.real("hi");
  const DType dtype = request.inputs[0].dtype;
  return elementwise::make_kernel(request.outputs[0].numel(), kExactNs,
                                  [=](const KernelRun& run, std::int64_t begin, std::int64_t end) {
                                    const std::size_t size = dtype_size(dtype);
                                    kernels::clamp_row(
                                        dtype, lo, hi, at(run.inputs[0], begin, size),
                                        at(run.outputs[0], begin, size), end - begin);
                                  });
}

std::vector<ValueType> infer_number(const InferContext& context) {
  elementwise::require_number(context, 0, "x");
  return {context.input(0)};
}

std::vector<ValueType> infer_floating(const InferContext& context) {
  context.require_floating(0, "x");
  return {context.input(0)};
}

std::vector<ValueType> infer_isfinite(const InferContext& context) {
  context.require_floating(0, "x");
  return {{DType::boolean, context.shape(0)}};
}

std::vector<ValueType> infer_logical_not(const InferContext& context) {
  context.require_dtype(0, DType::boolean, "x");
  return {context.input(0)};
}

std::vector<ValueType> infer_clamp(const InferContext& context) {
  elementwise::require_number(context, 0, "x");
  const double lo = context.attributes().real("lo"), hi = context.attributes().real("hi");
  if (!(lo <= hi)) {
    throw ArgumentError(fmt::format("lo must be at most hi, but lo is {} and hi is {}", lo, hi));
  }
  return {context.input(0)};
}

/// Samples with values in [low, high] (in tenths: template arguments must be integers).
template <int low, int high>
std::vector<OpSample> samples() {
  std::vector<OpSample> result;
  std::uint32_t seed = 1;
  for (const Sizes& sizes : {Sizes{7}, Sizes{}, Sizes{2, 3}, Sizes{0, 4}, Sizes{17}}) {
    result.push_back({{sample_values(sizes, low / 10.0, high / 10.0, seed++)}, {}});
  }
  return result;
}

std::vector<OpSample> isfinite_samples() {
  const float inf = std::numeric_limits<float>::infinity();
  return {{{Tensor::of<float>({5}, {0.0f, inf, -inf, NAN, 1e38f})}, {}},
          {{Tensor::zeros(DType::f32, {0})}, {}}};
}

std::vector<OpSample> logical_not_samples() {
  return {{{Tensor::of<bool>({3}, {true, false, true})}, {}},
          {{Tensor::zeros(DType::boolean, {2, 0})}, {}}};
}

std::vector<OpSample> clamp_samples() {
  return {{{sample_values({11}, -2, 2, 1)}, {{"lo", -0.5}, {"hi", 1.0}}},
          {{sample_values({2, 3}, -2, 2, 2)}, {{"lo", 0.0}}},
          {{sample_values({5}, -2, 2, 3)}, {{"hi", 0.5}}},
          {{sample_values({}, -2, 2, 4)}, {}},
          {{sample_values({0, 2}, -2, 2, 5)}, {{"lo", -1.0}, {"hi", 1.0}}}};
}

std::vector<OpErrorSample> number_errors() {
  return {{{{DType::boolean, {2}}}, {}, "x must be f32, f64 or an integer, but is bool"},
          {{{DType::bf16, {2}}}, {}, "but is bf16; convert it with cast()"}};
}

std::vector<OpErrorSample> floating_errors() {
  return {{{{DType::i32, {2}}}, {}, "x must be f32 or f64, but is i32"},
          {{{DType::boolean, {2}}}, {}, "x must be f32 or f64, but is bool"}};
}

std::vector<OpErrorSample> logical_errors() {
  return {{{{DType::f32, {2}}}, {}, "x must be bool, but is f32"}};
}

std::vector<OpErrorSample> clamp_errors() {
  return {{{{DType::f32, {2}}}, {{"lo", 2.0}, {"hi", 1.0}}, "lo must be at most hi, but lo is 2"},
          {{{DType::f32, {2}}}, {{"lo", std::nan("")}}, "lo must be at most hi, but lo is nan"},
          {{{DType::boolean, {2}}}, {}, "x must be f32, f64 or an integer, but is bool"}};
}

constexpr char kPiecewiseConstant[] = "piecewise constant: the derivative is 0 wherever it exists";

OpRecord make_record(std::string name, std::string doc, Kernel (*kernel)(const KernelRequest&)) {
  OpRecord r;
  r.name = std::move(name);
  r.doc = std::move(doc);
  r.inputs = {{"x"}};
  r.traits = Trait::elementwise;
  r.inplace = {{0, 0}};
  r.kernel = kernel;
  r.infer = infer_floating;
  r.samples = samples<-20, 20>;
  r.error_samples = floating_errors;
  return r;
}

/// f32 and f64, values of the samples in [low, high] tenths.
template <int low = -20, int high = 20>
void add_floating(OpSet& ops, std::string name, std::string doc,
                  Kernel (*kernel)(const KernelRequest&)) {
  OpRecord r = make_record(std::move(name), std::move(doc), kernel);
  r.samples = samples<low, high>;
  ops.add(std::move(r));
}

/// f32, f64 and integers.
void add_number(OpSet& ops, std::string name, std::string doc,
                Kernel (*kernel)(const KernelRequest&)) {
  OpRecord r = make_record(std::move(name), std::move(doc), kernel);
  r.infer = infer_number;
  r.error_samples = number_errors;
  ops.add(std::move(r));
}

void add_constant(OpSet& ops, OpRecord r) {
  r.gradient = Gradient::none;
  r.no_gradient_reason = kPiecewiseConstant;
  ops.add(std::move(r));
}

void add_exact(OpSet& ops) {
  add_number(ops, "neg", "-x; integers wrap around.", make_exact<UnaryOp::neg>);
  add_number(ops, "abs", "|x|; integers wrap around. Gradient 0 at 0.", make_exact<UnaryOp::abs>);
  add_number(ops, "square", "x * x; integers wrap around.", make_exact<UnaryOp::square>);
  add_floating<5, 25>(ops, "sqrt", "Square root; NaN below 0.", make_exact<UnaryOp::sqrt>);
  add_floating<5, 25>(ops, "rsqrt", "1 / sqrt(x), correctly rounded root and quotient.",
                      make_exact<UnaryOp::rsqrt>);
  add_floating<5, 25>(ops, "reciprocal", "1 / x.", make_exact<UnaryOp::reciprocal>);
  add_floating(ops, "relu", "max(x, 0); NaN stays NaN. Gradient 0 at 0.",
               make_exact<UnaryOp::relu>);

  OpRecord sign =
      make_record("sign", "-1, 0 or 1; floats: NaN stays NaN and zeros keep their sign.",
                  make_exact<UnaryOp::sign>);
  sign.infer = infer_number;
  sign.error_samples = number_errors;
  add_constant(ops, std::move(sign));
  add_constant(ops, make_record("floor", "Largest integer that is not greater than x.",
                                make_exact<UnaryOp::floor>));
  add_constant(ops, make_record("ceil", "Smallest integer that is not less than x.",
                                make_exact<UnaryOp::ceil>));
  add_constant(ops,
               make_record("round", "Nearest integer, ties to even.", make_exact<UnaryOp::round>));
}

void add_transcendental(OpSet& ops) {
  add_floating(ops, "exp", "e^x.", make_math<MathOp::exp>);
  add_floating<5, 25>(ops, "log", "Natural logarithm; -inf at 0, NaN below.",
                      make_math<MathOp::log>);
  add_floating<-5, 20>(ops, "log1p", "log(1 + x), accurate near 0.", make_math<MathOp::log1p>);
  add_floating(ops, "expm1", "e^x - 1, accurate near 0.", make_math<MathOp::expm1>);
  add_floating(ops, "sin", "Sine of x in radians.", make_math<MathOp::sin>);
  add_floating(ops, "cos", "Cosine of x in radians.", make_math<MathOp::cos>);
  add_floating(ops, "tanh", "Hyperbolic tangent.", make_math<MathOp::tanh>);
  add_floating(ops, "erf", "Error function, 2/sqrt(pi) * integral of exp(-t^2) from 0 to x.",
               make_math<MathOp::erf>);
  add_floating(ops, "sigmoid", "1 / (1 + exp(-x)).", make_activation<ActivationOp::sigmoid>);
  add_floating(ops, "gelu_erf",
               "x * Phi(x) with the normal distribution function Phi (Hendrycks and Gimpel 2016).",
               make_activation<ActivationOp::gelu_erf>);
  add_floating(ops, "gelu_tanh", "0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).",
               make_activation<ActivationOp::gelu_tanh>);
  add_floating(ops, "silu", "x * sigmoid(x).", make_activation<ActivationOp::silu>);
  add_floating(ops, "softplus", "log(1 + exp(x)), without overflow.",
               make_activation<ActivationOp::softplus>);
}

}  // namespace

void add_unary_ops(OpSet& ops) {
  add_exact(ops);
  add_transcendental(ops);

  OpRecord logical_not = make_record("logical_not", "!x.", make_logical_not);
  logical_not.infer = infer_logical_not;
  logical_not.gradient = Gradient::none;
  logical_not.no_gradient_reason = "booleans have no gradient";
  logical_not.samples = logical_not_samples;
  logical_not.error_samples = logical_errors;
  ops.add(std::move(logical_not));

  OpRecord isfinite =
      make_record("isfinite", "True where x is neither infinite nor NaN.", make_isfinite);
  isfinite.infer = infer_isfinite;
  isfinite.inplace = {};
  isfinite.gradient = Gradient::none;
  isfinite.no_gradient_reason = "booleans have no gradient";
  isfinite.samples = isfinite_samples;
  ops.add(std::move(isfinite));

  OpRecord clamp = make_record(
      "clamp", "min(max(x, lo), hi); NaN stays NaN. Gradient 1 from lo to hi, both included.",
      make_clamp);
  const double inf = std::numeric_limits<double>::infinity();
  clamp.attributes = {{"lo", -inf}, {"hi", inf}};
  clamp.infer = infer_clamp;
  clamp.samples = clamp_samples;
  clamp.error_samples = clamp_errors;
  ops.add(std::move(clamp));
}

}  // namespace weft
