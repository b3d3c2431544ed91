// Elementwise functions of one tensor, and softmax.
#include <numbers>

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/norm.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/dims.h"
#include "weft/serialization/onnx/import/operators/numeric.h"

namespace weft::onnx {
namespace {

// -- Trigonometric and hyperbolic functions that are not ops of Weft ------------------------------

Value tangent(Arg x) { return sin(x) / cos(x); }

// Returns the angle in [-pi/2, pi/2] whose tangent is s / c, for c >= 0. s and c need not have a
// particular length. An approximation within 0.004 of the angle is rotated away, and the rest is
// the arctangent of a small number. The approximation is constant for gradients, which are
// therefore those of the rest: exact up to rounding.
Value angle(Value s, Value c) {
  const Value steep = abs(s) > c;
  const Value size = maximum(abs(s), c);
  const Value ratio = minimum(abs(s), c) / where(size > 0, size, 1);  // in [0, 1]
  const Value small = ratio * (std::numbers::pi / 4 + 0.273 * (1 - ratio));
  const Value first = where(steep, std::numbers::pi / 2 - small, small);
  const Value about = stop_gradient(where(s < 0, -first, first));
  const Value sine = sin(about), cosine = cos(about);
  const Value rest = (s * cosine - c * sine) / (c * cosine + s * sine);
  const Value square_of_rest = square(rest);
  return about +
         rest * (1 - square_of_rest * (1.0 / 3 - square_of_rest * (1.0 / 5 - square_of_rest / 7)));
}

Value arctangent(Arg arg) {
  const Value x = arg.value("Atan");
  const Value large = abs(x) > 1;
  const Value reciprocal_size = reciprocal(where(large, abs(x), 1));
  return angle(where(large, sign(x), x), reciprocal_size);
}

Value arcsine(Arg arg) {
  const Value x = arg.value("Asin");
  return angle(x, sqrt(1 - x) * sqrt(1 + x));
}

// Half of the angle has the sine sqrt((1 - x) / 2), which is accurate near x = 1.
Value arccosine(Arg arg) {
  const Value x = arg.value("Acos");
  return 2 * angle(sqrt(1 - x), sqrt(1 + x));
}

// exp(x / 2) is finite if the result is.
Value hyperbolic_sine(Arg arg) {
  const Value x = arg.value("Sinh");
  const Value near_zero = abs(x) < 1;
  const Value p = expm1(where(near_zero, x, 0));
  const Value up = exp(0.5 * x), down = exp(-0.5 * x);
  return where(near_zero, 0.5 * (p + p / (p + 1)), (0.5 * up) * up - (0.5 * down) * down);
}

Value hyperbolic_cosine(Arg arg) {
  const Value x = arg.value("Cosh");
  const Value up = exp(0.5 * x), down = exp(-0.5 * x);
  return (0.5 * up) * up + (0.5 * down) * down;
}

// Returns ln(x) + ln(2), which is asinh(x) and acosh(x) of x > 10^9 within rounding, or `otherwise`
// for smaller x.
Value logarithm_of_large(Value x, Value otherwise) {
  const Value large = x > 1e9;
  return where(large, log(where(large, x, 1)) + std::numbers::ln2, otherwise);
}

Value area_sine(Arg arg) {
  const Value x = arg.value("Asinh");
  const Value size = where(x < 0, -x, x);  // abs() has gradient 0 at 0
  const Value y = minimum(size, 1e9);
  const Value result = logarithm_of_large(size, log1p(y + square(y) / (1 + sqrt(1 + square(y)))));
  return where(x < 0, -result, result);
}

Value area_cosine(Arg arg) {
  const Value x = arg.value("Acosh");
  const Value y = minimum(x, 1e9) - 1;
  return logarithm_of_large(x, log1p(y + sqrt(y) * sqrt(y + 2)));
}

Value area_tangent(Arg x) { return 0.5 * (log1p(x) - log1p(-x)); }

// -- Elementwise operators ------------------------------------------------------------------------

template <Value (*function)(Arg)>
std::vector<ImportedValue> unary_function(NodeImport& n) {
  const Value x = n.input(0);
  return {cast(function(widened(x)), x.dtype())};
}

// Translates an operator with the attribute `alpha`.
template <class Function>
std::vector<ImportedValue> with_alpha(NodeImport& n, double otherwise, Function function) {
  const Value x = n.input(0);
  return {cast(function(widened(x), n.real("alpha", otherwise)), x.dtype())};
}

std::vector<ImportedValue> rectified(NodeImport& n) {
  const Value x = n.input(0);
  return {is_integer(x.dtype()) ? maximum(x, 0) : cast(relu(widened(x)), x.dtype())};
}

std::vector<ImportedValue> leaky_rectified(NodeImport& n) {
  return with_alpha(n, 0.01F, [](Value x, double alpha) { return leaky_relu(x, alpha); });
}

std::vector<ImportedValue> exponential_unit(NodeImport& n) {
  return with_alpha(n, 1, [](Value x, double alpha) { return elu(x, alpha); });
}

std::vector<ImportedValue> continuous_exponential_unit(NodeImport& n) {
  return with_alpha(n, 1, [](Value x, double alpha) {
    return where(x > 0, x, alpha * expm1(minimum(x, 0) / alpha));
  });
}

std::vector<ImportedValue> thresholded_rectified(NodeImport& n) {
  return with_alpha(n, 1, [](Value x, double alpha) { return where(x > alpha, x, 0); });
}

std::vector<ImportedValue> scaled_exponential_unit(NodeImport& n) {
  const Value x = n.input(0);
  const double alpha = n.real("alpha", 1.67326319217681884765625);
  const double gamma = n.real("gamma", 1.05070102214813232421875);
  return {cast(gamma * elu(widened(x), alpha), x.dtype())};
}

std::vector<ImportedValue> parametric_rectified(NodeImport& n) {
  const Value x = n.input(0);
  Value slope = n.input(1);
  if (n.opset() < 7 && slope.rank() == 1 && x.rank() > 1) slope = from_axis(n, slope, 1, x.rank());
  require_broadcast(n, {x, slope});
  const Value y = widened(x);
  return {cast(where(y < 0, y * widened(slope), y), x.dtype())};
}

std::vector<ImportedValue> hard_sigmoid(NodeImport& n) {
  const Value x = n.input(0);
  const double alpha = n.real("alpha", 0.2F), beta = n.real("beta", 0.5);
  return {cast(clamp(alpha * widened(x) + beta, 0, 1), x.dtype())};
}

Value softsign(Arg x) { return x / (1 + abs(x)); }

std::vector<ImportedValue> gaussian_unit(NodeImport& n) {
  const Value x = n.input(0);
  const std::string form = n.text("approximate", "none");
  if (form != "none" && form != "tanh") n.unsupported("approximate = '" + form + "'");
  return {cast(gelu(widened(x), form == "tanh" ? GeluForm::tanh : GeluForm::erf), x.dtype())};
}

std::vector<ImportedValue> shrink(NodeImport& n) {
  const Value x = n.input(0);
  const double bias = n.real("bias", 0), threshold = n.real("lambd", 0.5);
  const Value y = is_integer(x.dtype()) ? cast(x, DType::f64) : widened(x);
  return {cast(where(y < -threshold, y + bias, where(y > threshold, y - bias, 0 * y)), x.dtype())};
}

// -- Softmax --------------------------------------------------------------------------------------

// Applies a function of one axis. Before opset 13, operands are coerced to matrices whose columns
// are the axes from `axis` on.
template <class Function>
std::vector<ImportedValue> along_axis_of(NodeImport& n, Function function) {
  const Value x = n.input(0), y = widened(x);
  const int rank = x.rank();
  const int axis = n.axis("axis", n.opset() < 13 ? 1 : -1, rank);
  if (n.opset() >= 13 || axis == rank - 1) return {cast(function(y, axis), x.dtype())};
  const Value rows =
      reshape(y, Shape{size_product(x.shape(), 0, axis), size_product(x.shape(), axis, rank)});
  return {cast(reshape(function(rows, 1), x.shape()), x.dtype())};
}

std::vector<ImportedValue> softmax_operator(NodeImport& n) {
  return along_axis_of(n, [](Value x, int axis) { return softmax(x, axis); });
}

std::vector<ImportedValue> log_softmax_operator(NodeImport& n) {
  return along_axis_of(n, [](Value x, int axis) { return log_softmax(x, axis); });
}

// 1 at the first largest element along the axis, 0 elsewhere.
std::vector<ImportedValue> hardmax(NodeImport& n) {
  return along_axis_of(n, [](Value x, int axis) {
    Shape shape(std::vector<Dim>(static_cast<std::size_t>(x.rank()), Dim(1)));
    shape[axis] = x.size(axis);
    return cast(equal(argmax(x, axis, true), iota(x.graph(), shape, axis)), x.dtype());
  });
}

constexpr Operator kFunctions[] = {
    {"Abs", 6, unary_function<abs>},
    {"Neg", 6, unary_function<neg>},
    {"Sign", 9, unary_function<sign>},
    {"Sqrt", 6, unary_function<sqrt>},
    {"Reciprocal", 6, unary_function<reciprocal>},
    {"Floor", 6, unary_function<floor>},
    {"Ceil", 6, unary_function<ceil>},
    {"Round", 11, unary_function<round>},
    {"Exp", 6, unary_function<exp>},
    {"Log", 6, unary_function<log>},
    {"Erf", 9, unary_function<erf>},
    {"Sin", 7, unary_function<sin>},
    {"Cos", 7, unary_function<cos>},
    {"Tan", 7, unary_function<tangent>},
    {"Asin", 7, unary_function<arcsine>},
    {"Acos", 7, unary_function<arccosine>},
    {"Atan", 7, unary_function<arctangent>},
    {"Sinh", 9, unary_function<hyperbolic_sine>},
    {"Cosh", 9, unary_function<hyperbolic_cosine>},
    {"Tanh", 6, unary_function<tanh>},
    {"Asinh", 9, unary_function<area_sine>},
    {"Acosh", 9, unary_function<area_cosine>},
    {"Atanh", 9, unary_function<area_tangent>},
    {"Sigmoid", 6, unary_function<sigmoid>},
    {"Softplus", 1, unary_function<softplus>},
    {"Softsign", 1, unary_function<softsign>},
    {"HardSwish", 14, unary_function<hardswish>},
    {"Mish", 18, unary_function<mish>},
    {"Relu", 6, rectified},
    {"LeakyRelu", 6, leaky_rectified},
    {"Elu", 6, exponential_unit},
    {"Celu", 12, continuous_exponential_unit},
    {"Selu", 6, scaled_exponential_unit},
    {"ThresholdedRelu", 10, thresholded_rectified},
    {"PRelu", 6, parametric_rectified},
    {"HardSigmoid", 6, hard_sigmoid},
    {"Gelu", 20, gaussian_unit},
    {"Shrink", 9, shrink},
    {"Softmax", 1, softmax_operator},
    {"LogSoftmax", 1, log_softmax_operator},
    {"Hardmax", 1, hardmax},
};

}  // namespace

std::span<const Operator> function_operators() { return kFunctions; }

}  // namespace weft::onnx
