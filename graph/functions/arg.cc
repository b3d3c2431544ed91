#include "weft/graph/functions/arg.h"

#include <fmt/format.h>

#include <string>

#include "weft/core/integer_range.h"

namespace weft {
namespace {

std::string at_place(SourceLocation loc) { return loc.known() ? " (" + loc.str() + ")" : ""; }

/// Returns the number as a scalar of an integer dtype. Throws DTypeError if its value would change.
Tensor integer_scalar(double value, std::optional<std::int64_t> integer, DType dtype) {
  const std::int64_t number = integer ? whole_number(*integer, dtype) : whole_number(value, dtype);
  if (dtype == DType::i64) return Tensor::of<std::int64_t>({}, {number});
  return Tensor::scalar(dtype, static_cast<double>(number));
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
    value = integer_scalar(*literal_, integer_, dtype);
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
