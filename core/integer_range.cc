#include "weft/core/integer_range.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>

#include "weft/core/error.h"

namespace weft {
namespace {

template <class T>
constexpr IntegerRange range_of() {
  return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}

/// Returns range.high + 1. This is a power of two and therefore exactly representable as a double,
/// even if range.high is not.
double end_of(IntegerRange range) {
  const std::int64_t half = range.high / 2 + 1;
  return 2.0 * static_cast<double>(half);
}

[[noreturn]] void does_not_fit(const std::string& number, DType dtype) {
  const IntegerRange range = integer_range(dtype);
  throw DTypeError(fmt::format("the number {} does not fit into {}, whose range is {} to {}",
                               number, dtype_name(dtype), range.low, range.high));
}

}  // namespace

IntegerRange integer_range(DType dtype) {
  switch (dtype) {
    case DType::i64: return range_of<std::int64_t>();
    case DType::i32: return range_of<std::int32_t>();
    case DType::i8: return range_of<std::int8_t>();
    case DType::u8: return range_of<std::uint8_t>();
    default: return {0, 1};
  }
}

std::optional<IntegerRange> whole_numbers(double low, double high, DType dtype) {
  const IntegerRange range = integer_range(dtype);
  const double first = std::ceil(low), last = std::floor(high);
  const auto least = static_cast<double>(range.low), end = end_of(range);
  if (!(first <= last) || first >= end || last < least) return std::nullopt;
  return IntegerRange{first <= least ? range.low : static_cast<std::int64_t>(first),
                      last >= end ? range.high : static_cast<std::int64_t>(last)};
}

std::int64_t whole_number(std::int64_t number, DType dtype) {
  if (!integer_range(dtype).holds(number)) does_not_fit(std::to_string(number), dtype);
  return number;
}

std::int64_t whole_number(double number, DType dtype) {
  const IntegerRange range = integer_range(dtype);
  if (std::isfinite(number) && number != std::floor(number)) {
    throw DTypeError(fmt::format(
        "the number {} cannot be stored as {}, which can only represent whole numbers from "
        "{} to {}; use a floating dtype (cast() converts a tensor)",
        number, dtype_name(dtype), range.low, range.high));
  }
  if (!(number >= static_cast<double>(range.low) && number < end_of(range))) {
    does_not_fit(fmt::format("{}", number), dtype);
  }
  return static_cast<std::int64_t>(number);
}

void check_representable(double number, DType dtype) {
  if (!is_floating(dtype)) whole_number(number, dtype);
}

}  // namespace weft
