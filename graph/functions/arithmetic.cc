#include "weft/graph/functions/arithmetic.h"

namespace weft {

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
