// Records of the elementwise ops with one operand.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "weft/core/integer_range.h"
#include "weft/ops/builtin.h"
#include "weft/ops/elementwise.h"
#include "weft/ops/kernels/elementwise/math.h"
#include "weft/ops/kernels/elementwise/unary.h"
#include "weft/ops/samples.h"

namespace weft {
namespace {

using elementwise::sample_values;
using kernels::ActivationOp;
using kernels::MathOp;
using kernels::UnaryOp;

// Approximate time per float on one core, in nanoseconds. kExactNs is limited by memory bandwidth.
constexpr double kExactNs = 0.3, kMathNs = 1.0;

RowKernel make_row(RowKernel::Function function, double ns_per_element) {
  RowKernel row;
  row.function = function;
  row.ns_per_element = ns_per_element;
  return row;
}

template <UnaryOp op>
RowKernel exact(const RowRequest& request) {
  return make_row(kernels::unary_row(op, request.inputs[0]), kExactNs);
}

template <MathOp op>
RowKernel math(const RowRequest& request) {
  return make_row(kernels::math_row(op, request.inputs[0]), kMathNs);
}

template <ActivationOp op>
RowKernel activation(const RowRequest& request) {
  return make_row(kernels::activation_row(op, request.inputs[0]), kMathNs);
}

RowKernel isfinite(const RowRequest& request) {
  return make_row(kernels::isfinite_row(request.inputs[0]), kExactNs);
}

RowKernel logical_not(const RowRequest&) { return make_row(kernels::logical_not_row(), kExactNs); }

RowKernel clamp(const RowRequest& request) {
  RowKernel row = kernels::clamp_row(request.inputs[0], request.attributes.real("lo"),
                                     request.attributes.real("hi"));
  row.ns_per_element = kExactNs;
  return row;
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
  const DType dtype = context.dtype(0);
  if (is_integer(dtype) && !whole_numbers(lo, hi, dtype)) {
    const IntegerRange range = integer_range(dtype);
    throw DTypeError(fmt::format("no {} value ({} to {}) is between lo = {} and hi = {}",
                                 dtype_name(dtype), range.low, range.high, lo, hi));
  }
  return {context.input(0)};
}

/// Returns samples with values in [low, high] (in tenths, because template arguments must be
/// integers).
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
          {{{DType::i8, {2}}}, {{"lo", 300.0}}, "no i8 value (-128 to 127) is between lo = 300"},
          {{{DType::u8, {2}}}, {{"hi", -1.0}}, "no u8 value (0 to 255) is between"},
          {{{DType::i32, {2}}}, {{"lo", 0.2}, {"hi", 0.8}}, "is between lo = 0.2 and hi = 0.8"},
          {{{DType::boolean, {2}}}, {}, "x must be f32, f64 or an integer, but is bool"}};
}

constexpr char kPiecewiseConstant[] = "piecewise constant: the derivative is 0 wherever it exists";

template <RowKernel (*row)(const RowRequest&)>
OpRecord make_record(std::string name, std::string doc) {
  OpRecord r;
  r.name = std::move(name);
  r.doc = std::move(doc);
  r.inputs = {{"x"}};
  r.traits = Trait::elementwise;
  r.inplace = {{0, 0}};
  r.kernel = elementwise::kernel<row>;
  r.row = row;
  r.infer = infer_floating;
  return r;
}

/// Adds an op on f32 and f64.
template <RowKernel (*row)(const RowRequest&)>
void add_floating(OpSet& ops, std::string name, std::string doc) {
  ops.add(make_record<row>(std::move(name), std::move(doc)));
}

/// Adds an op on f32, f64 and integers.
template <RowKernel (*row)(const RowRequest&)>
void add_number(OpSet& ops, std::string name, std::string doc) {
  OpRecord r = make_record<row>(std::move(name), std::move(doc));
  r.infer = infer_number;
  ops.add(std::move(r));
}

void add_constant(OpSet& ops, OpRecord r) {
  r.gradient = Gradient::none;
  r.no_gradient_reason = kPiecewiseConstant;
  ops.add(std::move(r));
}

void add_exact(OpSet& ops) {
  add_number<exact<UnaryOp::neg>>(ops, "neg", "-x; integers wrap around.");
  add_number<exact<UnaryOp::abs>>(ops, "abs", "|x|; integers wrap around. The gradient at 0 is 0.");
  add_number<exact<UnaryOp::square>>(ops, "square", "x * x; integers wrap around.");
  add_floating<exact<UnaryOp::sqrt>>(ops, "sqrt", "Square root; NaN for negative x.");
  add_floating<exact<UnaryOp::rsqrt>>(ops, "rsqrt",
                                      "1 / sqrt(x), with correctly rounded root and quotient.");
  add_floating<exact<UnaryOp::reciprocal>>(ops, "reciprocal", "1 / x.");
  add_floating<exact<UnaryOp::relu>>(ops, "relu",
                                     "max(x, 0); NaN remains NaN. The gradient at 0 is 0.");

  OpRecord sign = make_record<exact<UnaryOp::sign>>(
      "sign", "-1, 0 or 1; for floats, NaN remains NaN and zeros keep their sign.");
  sign.infer = infer_number;
  add_constant(ops, std::move(sign));
  add_constant(ops, make_record<exact<UnaryOp::floor>>(
                        "floor", "Largest integer that is not greater than x."));
  add_constant(
      ops, make_record<exact<UnaryOp::ceil>>("ceil", "Smallest integer that is not less than x."));
  add_constant(ops, make_record<exact<UnaryOp::round>>("round", "Nearest integer, ties to even."));
}

void add_transcendental(OpSet& ops) {
  add_floating<math<MathOp::exp>>(ops, "exp", "e^x.");
  add_floating<math<MathOp::log>>(ops, "log", "Natural logarithm; -inf at 0, NaN for negative x.");
  add_floating<math<MathOp::log1p>>(ops, "log1p", "log(1 + x), accurate near 0.");
  add_floating<math<MathOp::expm1>>(ops, "expm1", "e^x - 1, accurate near 0.");
  add_floating<math<MathOp::sin>>(ops, "sin", "Sine of x in radians.");
  add_floating<math<MathOp::cos>>(ops, "cos", "Cosine of x in radians.");
  add_floating<math<MathOp::tanh>>(ops, "tanh", "Hyperbolic tangent.");
  add_floating<math<MathOp::erf>>(
      ops, "erf", "Error function, 2/sqrt(pi) * integral of exp(-t^2) from 0 to x.");
  add_floating<activation<ActivationOp::sigmoid>>(ops, "sigmoid", "1 / (1 + exp(-x)).");
  add_floating<activation<ActivationOp::gelu_erf>>(
      ops, "gelu_erf",
      "x * Phi(x) with the normal distribution function Phi (Hendrycks and Gimpel 2016).");
  add_floating<activation<ActivationOp::gelu_tanh>>(
      ops, "gelu_tanh", "0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).");
  add_floating<activation<ActivationOp::silu>>(ops, "silu", "x * sigmoid(x).");
  add_floating<activation<ActivationOp::softplus>>(ops, "softplus",
                                                   "log(1 + exp(x)), without overflow.");
}

}  // namespace

void add_unary_ops(OpSet& ops) {
  add_exact(ops);
  add_transcendental(ops);

  OpRecord negation = make_record<logical_not>("logical_not", "!x.");
  negation.infer = infer_logical_not;
  negation.gradient = Gradient::none;
  negation.no_gradient_reason = "booleans have no gradient";
  ops.add(std::move(negation));

  OpRecord finite = make_record<isfinite>("isfinite", "True if x is neither infinite nor NaN.");
  finite.infer = infer_isfinite;
  finite.inplace = {};
  finite.gradient = Gradient::none;
  finite.no_gradient_reason = "booleans have no gradient";
  ops.add(std::move(finite));

  OpRecord limit = make_record<clamp>(
      "clamp",
      "min(max(x, lo), hi); NaN remains NaN. The gradient is 1 for x in [lo, hi] and 0 otherwise.");
  const double inf = std::numeric_limits<double>::infinity();
  limit.attributes = {{"lo", -inf}, {"hi", inf}};
  limit.infer = infer_clamp;
  ops.add(std::move(limit));
}

void add_unary_samples(OpSamples& all) {
  for (const char* op : {"neg", "abs", "square", "sign"}) {
    all.add(op, samples<-20, 20>, number_errors);
  }
  for (const char* op : {"relu", "floor", "ceil", "round", "exp", "expm1", "sin", "cos", "tanh",
                         "erf", "sigmoid", "gelu_erf", "gelu_tanh", "silu", "softplus"}) {
    all.add(op, samples<-20, 20>, floating_errors);
  }
  for (const char* op : {"sqrt", "rsqrt", "reciprocal", "log"}) {
    all.add(op, samples<5, 25>, floating_errors);
  }
  all.add("log1p", samples<-5, 20>, floating_errors);
  all.add("logical_not", logical_not_samples, logical_errors);
  all.add("isfinite", isfinite_samples, floating_errors);
  all.add("clamp", clamp_samples, clamp_errors);
}

}  // namespace weft
