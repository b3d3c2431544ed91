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

/// Returns the range of an integer dtype or bool. Not for floating dtypes.
IntegerRange integer_range(DType dtype);

/// Returns the integers in [low, high] that `dtype` can represent (either bound may be infinite),
/// or nullopt if there are none.
std::optional<IntegerRange> whole_numbers(double low, double high, DType dtype);

/// Returns the number as an element of an integer dtype or bool. Throws DTypeError that names the
/// number and the range of the dtype if it cannot be represented: a fraction, NaN, or out of range.
std::int64_t whole_number(double number, DType dtype);
std::int64_t whole_number(std::int64_t number, DType dtype);

/// Throws as above if `dtype` cannot represent the number. Floating dtypes accept every number,
/// rounded.
void check_representable(double number, DType dtype);

}  // namespace weft
