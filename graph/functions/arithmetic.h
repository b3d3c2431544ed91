// Arithmetic, comparisons, logic and selection, elementwise. Operands broadcast as in NumPy and
// have equal dtypes (there is no promotion: cast()); one of them may be a number, which takes the
// other's dtype. Errors (ShapeError, DTypeError) name both types and the caller's line. Costs are
// those of math.h: chains are one pass over memory.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// -- Arithmetic: f32, f64 and integers, which wrap around ----------------------------------------

/// a + b, a - b and a * b.
Value add(Arg a, Arg b);
Value sub(Arg a, Arg b);
Value mul(Arg a, Arg b);
/// Integers truncate towards zero; an integer divisor of 0 is a DataError when the program runs.
Value div(Arg a, Arg b);
/// a to the power of b. Gradients treat 0^b, b >= 0, as not depending on b. A negative integer
/// exponent of an integer is a DataError when the program runs.
Value pow(Arg a, Arg b);
/// The larger operand; NaN if either is NaN. Where both are equal each gets half of the gradient.
Value maximum(Arg a, Arg b);
/// The smaller operand; NaN and ties as maximum().
Value minimum(Arg a, Arg b);

Value operator+(Arg a, Arg b);
Value operator-(Arg a, Arg b);
Value operator*(Arg a, Arg b);
Value operator/(Arg a, Arg b);
Value operator-(Arg x);
// Rebinds the handle: the graph is never changed in place.
Value& operator+=(Value& a, Arg b);
Value& operator-=(Value& a, Arg b);
Value& operator*=(Value& a, Arg b);
Value& operator/=(Value& a, Arg b);

// -- Comparisons: any dtype -> bool. With NaN all are false but not_equal ------------------------

/// Elementwise a == b. (The operator == of Value compares handles.)
Value equal(Arg a, Arg b);
/// Elementwise a != b, a < b, a <= b, a > b, a >= b.
Value not_equal(Arg a, Arg b);
Value less(Arg a, Arg b);
Value less_equal(Arg a, Arg b);
Value greater(Arg a, Arg b);
Value greater_equal(Arg a, Arg b);
Value operator<(Arg a, Arg b);
Value operator<=(Arg a, Arg b);
Value operator>(Arg a, Arg b);
Value operator>=(Arg a, Arg b);

// -- Logic on bools ------------------------------------------------------------------------------

/// Both, at least one, exactly one; not x.
Value logical_and(Arg a, Arg b);
Value logical_or(Arg a, Arg b);
Value logical_xor(Arg a, Arg b);
Value logical_not(Arg x);

/// condition ? a : b for each element. `condition` is bool; a and b have any equal dtype, one of
/// them may be a number; all three broadcast. The operand that is not chosen gets gradient 0,
/// whatever its value.
Value where(Arg condition, Arg a, Arg b);

}  // namespace weft
