// Range checks for numbers stored in integer dtypes and in bool (0 and 1).
#pragma once

#include <cstdint>
#include <optional>

#include "weft/core/dtype.h"

namespace WEFT_API weft {

/// The integers from `low` to `high`, both inclusive.
struct IntegerRange {
  std::int64_t low = 0, high = 0;
  bool holds(std::int64_t n) const { return low <= n && n <= high; }
};

/// Returns the range of `dtype`, which must be an integer dtype or bool.
IntegerRange integer_range(DType dtype);

/// Returns the range of integers in [low, high] that `dtype` can represent, or nullopt if there are
/// none. Either bound may be infinite.
std::optional<IntegerRange> whole_numbers(double low, double high, DType dtype);

/// Converts a number to an integer for an element of an integer dtype or bool. Throws DTypeError,
/// naming the number and the range of the dtype, if the number is not an integer, is NaN or is out
/// of range.
std::int64_t whole_number(double number, DType dtype);
std::int64_t whole_number(std::int64_t number, DType dtype);

/// Throws DTypeError as whole_number() does if `dtype` cannot represent the number. Floating dtypes
/// accept every number, because it is rounded.
void check_representable(double number, DType dtype);

}  // namespace weft
