// Numbers as elements of integer dtypes, and of bool, which holds 0 and 1.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/core/dtype.h"

namespace WEFT_API weft {

/// Whole numbers from `low` to `high`, both included.
struct IntegerRange {
  std::int64_t low = 0, high = 0;
  bool holds(std::int64_t n) const { return low <= n && n <= high; }
};

/// What an integer dtype or bool holds. Not for floating dtypes.
IntegerRange integer_range(DType dtype);

/// The elements of an integer dtype from `low` to `high` (either may be infinite); none where there
/// is no such number.
std::optional<IntegerRange> whole_numbers(double low, double high, DType dtype);

/// The number as an element of an integer dtype or bool. Throws DTypeError that names the number
/// and what the dtype holds for one that it does not hold: a fraction, NaN, or one out of range.
std::int64_t whole_number(double number, DType dtype);
std::int64_t whole_number(std::int64_t number, DType dtype);

/// The same for any dtype: floating ones take every number, rounded.
void require_number_of(double number, DType dtype);

}  // namespace weft
