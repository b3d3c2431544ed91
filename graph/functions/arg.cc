#include "weft/graph/functions/arg.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace weft {
namespace {

std::string at_place(SourceLocation loc) { return loc.known() ? " (" + loc.str() + ")" : ""; }

/// Whether an integer dtype (or bool) holds `value`.
bool fits(std::int64_t value, DType dtype) {
  switch (dtype) {
    case DType::i64: return true;
    case DType::i32: return value >= -0x80000000LL && value <= 0x7FFFFFFF;
    case DType::i8: return value >= -128 && value <= 127;
    case DType::u8: return value >= 0 && value <= 255;
    default: return value == 0 || value == 1;
  }
}

/// The number as a tensor of an integer dtype; throws DTypeError where its value would change.
Tensor whole(double value, std::optional<std::int64_t> integer, DType dtype) {
  if (!integer && value != std::floor(value)) {
    throw DTypeError(
        fmt::format("the number {} would lose its fraction as {}; cast the tensor to a "
                    "floating dtype",
                    value, dtype_name(dtype)));
  }
  if (!integer && value >= -0x1p63 && value < 0x1p63) integer = static_cast<std::int64_t>(value);
  if (!integer || !fits(*integer, dtype)) {
    throw DTypeError(fmt::format("the number {} does not fit {}",
                                 integer ? std::to_string(*integer) : fmt::format("{}", value),
                                 dtype_name(dtype)));
  }
  if (dtype == DType::i64) return Tensor::of<std::int64_t>({}, {*integer});
  return Tensor::scalar(dtype, static_cast<double>(*integer));
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
  if (is_floating(dtype)) return graph.scalar(dtype, *literal_, loc_);
  Tensor value;
  try {
    value = whole(*literal_, integer_, dtype);
  } catch (const Error& error) {
    graph.fail(error, function, {}, loc_);
  }
  return graph.constant(std::move(value), loc_);
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
