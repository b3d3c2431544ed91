// Arg: the parameter type of functions on Values. It accepts numbers as well as Values and captures
// the caller's source line.
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

/// A Value or a number, together with the source line of the conversion. The implicit conversion at
/// the call site captures the line, also for operators. A number is converted to the dtype of the
/// tensor that it is combined with; integer literals are exact for integer tensors.
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
    // An unsigned number beyond the range of i64 fits no integer dtype, so the double is enough for
    // the error message.
    if constexpr (std::integral<T>) {
      if (std::signed_integral<T> || static_cast<std::uint64_t>(literal) <= kLargest) {
        integer_ = static_cast<std::int64_t>(literal);
      }
    }
  }

  bool is_literal() const { return literal_.has_value(); }
  double literal() const { return *literal_; }
  SourceLocation location() const { return loc_; }
  /// Returns the Value. Throws ArgumentError if this is a number, and GraphError if the Value is
  /// undefined. `function` names the function that requires a tensor; it is printed in the message.
  Value value(std::string_view function) const;
  /// Returns the Value, or converts a number to a scalar constant of `dtype` in `graph`. Throws
  /// DTypeError if `dtype` is an integer type that cannot represent the number exactly: a fraction,
  /// or a number out of range.
  Value value_as(Graph& graph, DType dtype, std::string_view function) const;

 private:
  static constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();

  Value value_;
  std::optional<double> literal_;
  /// Set in addition to literal_ if the number was written as an integer.
  std::optional<std::int64_t> integer_;
  SourceLocation loc_;
};

/// An optional operand, absent by default.
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

/// The operands of a binary function as Values of one graph.
struct ArgPair {
  Value a, b;
  SourceLocation loc;
};
/// Converts the operands of a binary function to Values. A number is converted to the dtype of the
/// other operand. Throws ArgumentError if both are numbers.
ArgPair resolve_pair(const Arg& a, const Arg& b, std::string_view function);

/// Applies op `op` to one operand and returns its output 0.
Value apply_unary(std::string_view op, const Arg& x, Attributes attributes = {});
/// Applies op `op` to two operands, either of which may be a number, and returns its output 0.
Value apply_binary(std::string_view op, const Arg& a, const Arg& b);

}  // namespace weft
