// Arg: the parameter type of every function on Values. It carries the user's line, and lets
// literals stand where a Value is expected.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/core/source_location.h"
#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// A Value or a number, with the line where it was written: converting at the call site captures
/// it, for operators too. A literal takes the dtype of the tensor it meets; whole numbers are exact
/// for integer tensors.
class Arg {
 public:
  Arg(Value value, SourceLocation loc = SourceLocation::current())  // NOLINT
      : value_(value), loc_(loc) {}
  Arg(Variable variable, SourceLocation loc = SourceLocation::current())  // NOLINT
      : value_(variable.value()), loc_(loc) {}
  template <class T>
  requires(std::floating_point<T> || std::integral<T>)
      Arg(T literal, SourceLocation loc = SourceLocation::current())  // NOLINT
      : literal_(static_cast<double>(literal)), loc_(loc) {
    // An unsigned number that no i64 holds fits no integer dtype: the double says enough.
    if constexpr (std::integral<T>) {
      if (std::signed_integral<T> || static_cast<std::uint64_t>(literal) <= kLargest) {
        integer_ = static_cast<std::int64_t>(literal);
      }
    }
  }

  bool is_literal() const { return literal_.has_value(); }
  double literal() const { return *literal_; }
  SourceLocation location() const { return loc_; }
  /// The Value; throws ArgumentError if this is a literal (`function` names who needs a tensor),
  /// GraphError if it is undefined.
  Value value(std::string_view function) const;
  /// The Value, a literal becoming a scalar constant of `dtype` in `graph`. Throws DTypeError for a
  /// literal that an integer dtype does not hold: a fraction, or one out of range.
  Value value_as(Graph& graph, DType dtype, std::string_view function) const;

 private:
  static constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();

  Value value_;
  std::optional<double> literal_;
  std::optional<std::int64_t> integer_;  // beside literal_, where it was written as an integer
  SourceLocation loc_;
};

/// An optional operand: absent by default.
class OptionalArg {
 public:
  OptionalArg() = default;
  OptionalArg(std::nullopt_t) {}               // NOLINT(google-explicit-constructor)
  OptionalArg(Value value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  OptionalArg(Variable variable)
      : value_(variable.value()) {}  // NOLINT(google-explicit-constructor)
  bool present() const { return value_.defined(); }
  Value value() const { return value_; }

 private:
  Value value_;
};

/// Both operands as Values of one graph; a literal takes the other's dtype. Throws ArgumentError if
/// both are literals. This is where all binary functions start.
struct ArgPair {
  Value a, b;
  SourceLocation loc;
};
ArgPair resolve_pair(const Arg& a, const Arg& b, std::string_view function);

/// Output 0 of op `op` applied to one operand.
Value apply_unary(std::string_view op, const Arg& x, Attributes attributes = {});
/// Output 0 of op `op` applied to two operands (either may be a literal).
Value apply_binary(std::string_view op, const Arg& a, const Arg& b);

}  // namespace weft
