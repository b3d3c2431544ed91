// Elementwise arithmetic, comparisons, logic and selection. Operands broadcast as in NumPy and must
// have equal dtypes: there is no type promotion, so use cast(). One operand may be a number, which
// is converted to the dtype of the other operand. Errors (ShapeError, DTypeError) name both types
// and the caller's source line. Chains of elementwise functions, including those in math.h, are
// fused into one pass over memory.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// -- Arithmetic: f32, f64 and integers; integers wrap around on overflow --------------------------

/// Returns a + b, a - b or a * b.
inline Value add(Arg a, Arg b) { return apply_binary("add", a, b); }
inline Value sub(Arg a, Arg b) { return apply_binary("sub", a, b); }
inline Value mul(Arg a, Arg b) { return apply_binary("mul", a, b); }
/// Returns a / b. Integer division truncates towards zero; an integer divisor of 0 throws DataError
/// at run time.
inline Value div(Arg a, Arg b) { return apply_binary("div", a, b); }
/// Returns a to the power of b. For a = 0 and b >= 0 the gradient with respect to b is 0. An
/// integer raised to a negative power throws DataError at run time.
inline Value pow(Arg a, Arg b) { return apply_binary("pow", a, b); }
/// Returns the larger operand, or NaN if either is NaN. If both are equal, each gets half of the
/// gradient.
inline Value maximum(Arg a, Arg b) { return apply_binary("maximum", a, b); }
/// Returns the smaller operand. NaN and ties are handled in the same way as by maximum().
inline Value minimum(Arg a, Arg b) { return apply_binary("minimum", a, b); }

inline Value operator+(Arg a, Arg b) { return apply_binary("add", a, b); }
inline Value operator-(Arg a, Arg b) { return apply_binary("sub", a, b); }
inline Value operator*(Arg a, Arg b) { return apply_binary("mul", a, b); }
inline Value operator/(Arg a, Arg b) { return apply_binary("div", a, b); }
inline Value operator-(Arg x) { return apply_unary("neg", x); }
// Compound assignment rebinds the handle `a` to a new Value; existing nodes never change.
Value& operator+=(Value& a, Arg b);
Value& operator-=(Value& a, Arg b);
Value& operator*=(Value& a, Arg b);
Value& operator/=(Value& a, Arg b);

// -- Comparisons: any dtype -> bool. If an operand is NaN, only not_equal is true ----------------

/// Returns a == b elementwise. (Value's operator== compares handles.)
inline Value equal(Arg a, Arg b) { return apply_binary("equal", a, b); }
/// Returns a != b, a < b, a <= b, a > b or a >= b elementwise.
inline Value not_equal(Arg a, Arg b) { return apply_binary("not_equal", a, b); }
inline Value less(Arg a, Arg b) { return apply_binary("less", a, b); }
inline Value less_equal(Arg a, Arg b) { return apply_binary("less_equal", a, b); }
inline Value greater(Arg a, Arg b) { return apply_binary("greater", a, b); }
inline Value greater_equal(Arg a, Arg b) { return apply_binary("greater_equal", a, b); }
inline Value operator<(Arg a, Arg b) { return apply_binary("less", a, b); }
inline Value operator<=(Arg a, Arg b) { return apply_binary("less_equal", a, b); }
inline Value operator>(Arg a, Arg b) { return apply_binary("greater", a, b); }
inline Value operator>=(Arg a, Arg b) { return apply_binary("greater_equal", a, b); }

// -- Logic on bools ------------------------------------------------------------------------------

/// Elementwise logical and, or, exclusive or, and negation.
inline Value logical_and(Arg a, Arg b) { return apply_binary("logical_and", a, b); }
inline Value logical_or(Arg a, Arg b) { return apply_binary("logical_or", a, b); }
inline Value logical_xor(Arg a, Arg b) { return apply_binary("logical_xor", a, b); }
inline Value logical_not(Arg x) { return apply_unary("logical_not", x); }

/// Returns condition ? a : b elementwise. `condition` is bool; a and b have the same dtype, which
/// may be any, and one of them may be a number. All three broadcast. The operand that is not
/// selected gets gradient 0, whatever its value.
Value where(Arg condition, Arg a, Arg b);

}  // namespace weft
