#include "weft/graph/functions/arg.h"

#include <fmt/format.h>

#include <cmath>

namespace weft {
namespace {

std::string at_place(SourceLocation loc) { return loc.known() ? " (" + loc.str() + ")" : ""; }

/// Smallest and largest value of an integer dtype, as doubles.
std::pair<double, double> integer_limits(DType dtype) {
  switch (dtype) {
    case DType::i64: return {-0x1p63, 0x1p63};
    case DType::i32: return {-0x1p31, 0x1p31 - 1};
    case DType::i8: return {-128, 127};
    case DType::u8: return {0, 255};
    default: return {0, 1};
  }
}

/// Throws DTypeError where a literal would change its value on becoming `dtype`.
void check_literal(double value, bool integral, DType dtype) {
  if (is_floating(dtype)) return;
  if (value != std::floor(value)) {
    throw DTypeError(
        fmt::format("the number {} would lose its fraction as {}; cast the tensor to a "
                    "floating dtype",
                    value, dtype_name(dtype)));
  }
  const auto [low, high] = integer_limits(dtype);
  if (value < low || value > high) {
    throw DTypeError(fmt::format("the number {} does not fit {}", value, dtype_name(dtype)));
  }
  if (integral && std::abs(value) > 0x1p53) {
    throw DTypeError(
        fmt::format("the number {} is too large for a literal, which is exact up to 2^53; "
                    "use Graph::constant()",
                    value));
  }
}

}  // namespace

Value Arg::value(std::string_view function) const {
  if (is_literal()) {
    throw ArgumentError(fmt::format("{}: expected a tensor, but got the number {}{}", function,
                                    *literal_, at_place(loc_)));
  }
  if (!value_.defined()) {
    throw GraphError(fmt::format("{}: expected a tensor, but got an undefined Value{}", function,
                                 at_place(loc_)));
  }
  return value_;
}

Value Arg::value_as(Graph& graph, DType dtype, std::string_view function) const {
  if (!is_literal()) return value(function);
  try {
    check_literal(*literal_, integral_, dtype);
  } catch (const Error& error) {
    graph.fail(error, function, {}, loc_);
  }
  return graph.scalar(dtype, *literal_, loc_);
}

ArgPair resolve_pair(const Arg& a, const Arg& b, std::string_view function) {
  if (a.is_literal() && b.is_literal()) {
    throw ArgumentError(
        fmt::format("{}: one operand must be a tensor, but both are numbers, {} and {}{}", function,
                    a.literal(), b.literal(), at_place(a.location())));
  }
  const SourceLocation loc = a.location().known() ? a.location() : b.location();
  if (a.is_literal()) {
    const Value right = b.value(function);
    return {a.value_as(right.graph(), right.dtype(), function), right, loc};
  }
  const Value left = a.value(function);
  return {left, b.value_as(left.graph(), left.dtype(), function), loc};
}

Value apply_unary(std::string_view op, const Arg& x, Attributes attributes) {
  const Value value = x.value(op);
  return value.graph().apply(op, {value}, std::move(attributes), x.location()).output(0);
}

Value apply_binary(std::string_view op, const Arg& a, const Arg& b) {
  const ArgPair pair = resolve_pair(a, b, op);
  return pair.a.graph().apply(op, {pair.a, pair.b}, {}, pair.loc).output(0);
}

}  // namespace weft
