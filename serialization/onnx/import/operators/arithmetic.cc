// Arithmetic, comparisons, logic, bit operations and casts.
#include <limits>

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/file_import.h"
#include "weft/serialization/onnx/import/graph_import.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/dims.h"
#include "weft/serialization/onnx/import/operators/numeric.h"

namespace weft::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct BinaryOperands {
  Value a, b;
};

// Returns the operands of a binary operator. Before opset 7, operands broadcast only if the
// attribute `broadcast` is set, and the axes of b begin at `axis` of a.
BinaryOperands binary_operands(NodeImport& n) {
  BinaryOperands operands{n.input(0), n.input(1)};
  if (n.opset() < 7 && n.flag("broadcast") && n.has_attribute("axis"))
    operands.b = from_axis(n, operands.b, n.integer("axis"), operands.a.rank());
  require_broadcast(n, {operands.a, operands.b});
  return operands;
}

template <Value (*function)(Arg, Arg)>
std::vector<ImportedValue> binary_arithmetic(NodeImport& n) {
  const auto [a, b] = binary_operands(n);
  return {cast(function(widened(a), widened(b)), a.dtype())};
}

template <Value (*function)(Arg, Arg)>
std::vector<ImportedValue> comparison(NodeImport& n) {
  const auto [a, b] = binary_operands(n);
  return {function(a, b)};
}

// Applies a binary function to any number of operands, from left to right.
template <Value (*function)(Arg, Arg)>
Value variadic(NodeImport& n) {
  require_broadcast(n, n.inputs());
  Value result = widened(n.input(0));
  for (const Value x : n.inputs(1)) result = function(result, widened(x));
  return result;
}

template <Value (*function)(Arg, Arg)>
std::vector<ImportedValue> variadic_arithmetic(NodeImport& n) {
  return {cast(variadic<function>(n), n.input(0).dtype())};
}

std::vector<ImportedValue> mean_of_operands(NodeImport& n) {
  return {cast(variadic<add>(n) / n.input_count(), n.input(0).dtype())};
}

std::vector<ImportedValue> power(NodeImport& n) {
  const Value base = n.input(0), x = widened(base);
  const auto known = n.known_if_any(1);
  if (known && known->numel() == 1 && known->rank() <= x.rank()) {
    if (known->at(0) == 2) return {cast(square(x), base.dtype())};
    if (known->at(0) == 3) return {cast(square(x) * x, base.dtype())};
  }
  const Value exponent = binary_operands(n).b;
  // The result has the dtype of the base. An integer base with a floating exponent is computed in
  // f64, which is exact below 2^53.
  const DType computed =
      is_integer(x.dtype()) && is_floating(exponent.dtype()) ? DType::f64 : x.dtype();
  return {cast(pow(cast(x, computed), cast(exponent, computed)), base.dtype())};
}

// Rounds towards zero.
Value truncated(Value x) { return where(x < 0, ceil(x), floor(x)); }

// Returns q * b for a whole number q without rounding if |q| < 2^26: b is split into two numbers of
// 26 bits.
BinaryOperands exact_multiple(Value q, Value b) {
  const Value scaled = b * 134217729.0;  // 2^27 + 1
  const Value high = scaled - (scaled - b);
  return {q * high, q * (b - high)};
}

// The remainder with the sign of the dividend. An infinite divisor changes nothing.
Value floating_remainder(Value a, Value b) {
  const Value finite = isfinite(b);
  const Value divisor = where(finite, b, 1);
  const Value quotient = stop_gradient(truncated(a / divisor));
  const auto [high, low] = exact_multiple(quotient, divisor);
  Value rest = (a - high) - low;
  // The quotient may have been rounded to the next whole number.
  const Value size = abs(divisor);
  rest = where(logical_and(a >= 0, rest < 0), rest + size, rest);
  rest = where(logical_and(a<0, rest> 0), rest - size, rest);
  return where(finite, rest, a);
}

// Returns a mod b for sizes: the padding of an axis to a multiple of 8 is (8 - size mod 8) mod 8.
// Undefined if a and b are not sizes.
Value modulus_of_sizes(NodeImport& n, Value a, Value b) {
  if (n.known(a)) return {};
  const auto sizes = n.import().file().known.dims(a), divisor = n.import().file().known.dims(b);
  if (!sizes || sizes->empty() || !divisor || divisor->size() != 1 || b.rank() > a.rank())
    return {};
  if (!Dim::provably_le(1, divisor->front())) return {};
  std::vector<Dim> rests;
  for (const Dim& size : *sizes)
    rests.push_back(size - floor_div(size, divisor->front()) * divisor->front());
  return value_of_sizes(n.graph(), rests, a.type());
}

std::vector<ImportedValue> mod(NodeImport& n) {
  const Value a = n.input(0), b = n.input(1);
  const bool sign_of_dividend = n.flag("fmod");
  if (is_floating(a.dtype())) {
    if (!sign_of_dividend) n.unsupported("floating-point operands and fmod = 0");
    // Quotients of f32 have at most 53 bits if they are computed in f64 and below 2^29.
    const Value rest = floating_remainder(cast(a, DType::f64), cast(b, DType::f64));
    return {cast(rest, a.dtype())};
  }
  if (!sign_of_dividend) {
    if (const Value rest = modulus_of_sizes(n, a, b); rest.defined()) return {rest};
  }
  const Value rest = a - a / b * b;
  if (sign_of_dividend || a.dtype() == DType::u8) return {rest};
  const Value other_sign = logical_and(not_equal(rest, 0), not_equal(rest < 0, b < 0));
  return {where(other_sign, rest + b, rest)};
}

// Bit operations are composed of integer arithmetic, because Weft has no operations on bits. Their
// cost is proportional to the number of bits.
Value bitwise_and(Value a, Value b) {
  const bool has_sign = a.dtype() != DType::u8;
  const int bits = static_cast<int>(dtype_size(a.dtype())) * 8;
  // Takes the lowest bit off a value: the rest is even, so its half is exact for negative numbers
  // too.
  const auto take_bit = [&](Value& v) {
    const Value rest = v - v / 2 * 2;
    const Value bit = has_sign ? abs(rest) : rest;
    v = (v - bit) / 2;
    return bit;
  };
  Value result, place = a.graph().constant(Tensor::scalar(a.dtype(), 1));
  for (int i = 0; i < bits; ++i) {
    const Value bit = take_bit(a) * take_bit(b) * place;
    result = i == 0 ? bit : result + bit;
    place = place + place;  // wraps around to the sign
  }
  return result;
}

std::vector<ImportedValue> bitwise_conjunction(NodeImport& n) {
  return {bitwise_and(n.input(0), n.input(1))};
}

std::vector<ImportedValue> bitwise_disjunction(NodeImport& n) {
  const Value a = n.input(0), b = n.input(1);
  return {a + (b - bitwise_and(a, b))};
}

std::vector<ImportedValue> bitwise_difference(NodeImport& n) {
  const Value a = n.input(0), b = n.input(1), both = bitwise_and(a, b);
  return {(a - both) + (b - both)};
}

std::vector<ImportedValue> bitwise_negation(NodeImport& n) {
  const Value x = n.input(0);
  return {(x.dtype() == DType::u8 ? 255 : -1) - x};
}

std::vector<ImportedValue> bit_shift(NodeImport& n) {
  const Value x = n.input(0), places = n.input(1);
  const std::string direction = n.text("direction", "");
  if (x.dtype() != DType::u8)
    n.unsupported("operands of dtype " + std::string(dtype_name(x.dtype())));
  // Shifts of 8 places and more give 0.
  const Value factor = pow(cast(full_like(x, 2), DType::i32), minimum(cast(places, DType::i32), 8));
  const Value wide = cast(x, DType::i32);
  if (direction == "LEFT") return {cast(wide * factor, DType::u8)};
  if (direction == "RIGHT") return {cast(wide / factor, DType::u8)};
  n.unsupported("direction '" + direction + "'");
}

std::vector<ImportedValue> selection(NodeImport& n) {
  require_broadcast(n, n.inputs());
  return {where(n.input(0), n.input(1), n.input(2))};
}

std::vector<ImportedValue> logical_negation(NodeImport& n) { return {logical_not(n.input(0))}; }

std::vector<ImportedValue> is_nan(NodeImport& n) {
  const Value x = n.input(0);
  return {not_equal(x, x)};
}

std::vector<ImportedValue> is_infinite(NodeImport& n) {
  const Value x = widened(n.input(0));
  const bool negative = n.flag("detect_negative", true), positive = n.flag("detect_positive", true);
  if (positive && negative) return {equal(abs(x), kInfinity)};
  if (positive) return {equal(x, kInfinity)};
  if (negative) return {equal(x, -kInfinity)};
  return {zeros(n.graph(), DType::boolean, x.shape())};
}

std::vector<ImportedValue> clip(NodeImport& n) {
  const Value x = widened(n.input(0));
  const DType result = n.input(0).dtype();
  if (n.opset() < 11) {
    return {cast(clamp(x, n.real("min", std::numeric_limits<float>::lowest()),
                       n.real("max", std::numeric_limits<float>::max())),
                 result)};
  }
  // One clamp instead of two comparisons, if the bounds are known. If they cross, the upper bound
  // is the result.
  const auto bound = [&](std::size_t i, double absent) {
    if (!n.has(i)) return absent;
    const auto known = n.known_if_any(i);
    return known && known->numel() == 1 ? known->at(0) : std::numeric_limits<double>::quiet_NaN();
  };
  const double least = bound(1, -kInfinity), largest = bound(2, kInfinity);
  if (is_floating(x.dtype()) && least <= largest) return {cast(clamp(x, least, largest), result)};
  Value y = x;
  if (n.has(1)) y = maximum(y, reshape(widened(n.input(1)), Shape{}));
  if (n.has(2)) y = minimum(y, reshape(widened(n.input(2)), Shape{}));
  return {cast(y, result)};
}

std::vector<ImportedValue> conversion(NodeImport& n) {
  n.skip_attribute("saturate");    // about 8-bit floating-point numbers
  n.skip_attribute("round_mode");  // the same
  return {cast(n.input(0), dtype_attribute(n, "to"))};
}

std::vector<ImportedValue> conversion_like(NodeImport& n) {
  n.skip_attribute("saturate");
  n.skip_attribute("round_mode");
  return {cast(n.input(0), n.input(1).dtype())};
}

constexpr Operator kArithmetic[] = {
    {"Add", 6, binary_arithmetic<add>},
    {"Sub", 6, binary_arithmetic<sub>},
    {"Mul", 6, binary_arithmetic<mul>},
    {"Div", 6, binary_arithmetic<div>},
    {"Pow", 1, power},
    {"Mod", 10, mod},
    {"Max", 6, variadic_arithmetic<maximum>},
    {"Min", 6, variadic_arithmetic<minimum>},
    {"Sum", 6, variadic_arithmetic<add>},
    {"Mean", 6, mean_of_operands},
    {"Equal", 1, comparison<equal>},
    {"Greater", 1, comparison<greater>},
    {"GreaterOrEqual", 12, comparison<greater_equal>},
    {"Less", 1, comparison<less>},
    {"LessOrEqual", 12, comparison<less_equal>},
    {"And", 1, comparison<logical_and>},
    {"Or", 1, comparison<logical_or>},
    {"Xor", 1, comparison<logical_xor>},
    {"Not", 1, logical_negation},
    {"BitShift", 11, bit_shift},
    {"BitwiseAnd", 18, bitwise_conjunction},
    {"BitwiseOr", 18, bitwise_disjunction},
    {"BitwiseXor", 18, bitwise_difference},
    {"BitwiseNot", 18, bitwise_negation},
    {"Where", 9, selection},
    {"IsNaN", 9, is_nan},
    {"IsInf", 10, is_infinite},
    {"Clip", 6, clip},
    {"Cast", 6, conversion},
    {"CastLike", 15, conversion_like},
};

}  // namespace

std::span<const Operator> arithmetic_operators() { return kArithmetic; }

}  // namespace weft::onnx
