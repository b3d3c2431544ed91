#include "weft/graph/functions/arithmetic.h"

namespace weft {

Value add(Arg a, Arg b) { return apply_binary("add", a, b); }
Value sub(Arg a, Arg b) { return apply_binary("sub", a, b); }
Value mul(Arg a, Arg b) { return apply_binary("mul", a, b); }
Value div(Arg a, Arg b) { return apply_binary("div", a, b); }
Value pow(Arg a, Arg b) { return apply_binary("pow", a, b); }
Value maximum(Arg a, Arg b) { return apply_binary("maximum", a, b); }
Value minimum(Arg a, Arg b) { return apply_binary("minimum", a, b); }
Value equal(Arg a, Arg b) { return apply_binary("equal", a, b); }
Value not_equal(Arg a, Arg b) { return apply_binary("not_equal", a, b); }
Value less(Arg a, Arg b) { return apply_binary("less", a, b); }
Value less_equal(Arg a, Arg b) { return apply_binary("less_equal", a, b); }
Value greater(Arg a, Arg b) { return apply_binary("greater", a, b); }
Value greater_equal(Arg a, Arg b) { return apply_binary("greater_equal", a, b); }
Value logical_and(Arg a, Arg b) { return apply_binary("logical_and", a, b); }
Value logical_or(Arg a, Arg b) { return apply_binary("logical_or", a, b); }
Value logical_xor(Arg a, Arg b) { return apply_binary("logical_xor", a, b); }
Value logical_not(Arg x) { return apply_unary("logical_not", x); }

Value operator+(Arg a, Arg b) { return apply_binary("add", a, b); }
Value operator-(Arg a, Arg b) { return apply_binary("sub", a, b); }
Value operator*(Arg a, Arg b) { return apply_binary("mul", a, b); }
Value operator/(Arg a, Arg b) { return apply_binary("div", a, b); }
Value operator<(Arg a, Arg b) { return apply_binary("less", a, b); }
Value operator<=(Arg a, Arg b) { return apply_binary("less_equal", a, b); }
Value operator>(Arg a, Arg b) { return apply_binary("greater", a, b); }
Value operator>=(Arg a, Arg b) { return apply_binary("greater_equal", a, b); }
Value operator-(Arg x) { return apply_unary("neg", x); }

// The location is that of the right operand, because `a` is a plain Value without a location.
Value& operator+=(Value& a, Arg b) { return a = apply_binary("add", Arg(a, b.location()), b); }
Value& operator-=(Value& a, Arg b) { return a = apply_binary("sub", Arg(a, b.location()), b); }
Value& operator*=(Value& a, Arg b) { return a = apply_binary("mul", Arg(a, b.location()), b); }
Value& operator/=(Value& a, Arg b) { return a = apply_binary("div", Arg(a, b.location()), b); }

Value where(Arg condition, Arg a, Arg b) {
  const Value c = condition.value("where");
  const ArgPair pair = resolve_pair(a, b, "where");
  return c.graph().apply("where", {c, pair.a, pair.b}, {}, condition.location()).output(0);
}

}  // namespace weft
