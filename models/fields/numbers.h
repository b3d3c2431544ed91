// Strict parsing of numbers in user input. All numbers that users enter are parsed here.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Closed range of allowed integers.
template <class Int>
struct IntegerRange {
  Int low = std::numeric_limits<Int>::min(), high = std::numeric_limits<Int>::max();
};

/// Range of allowed finite numbers. The end points are included unless they are open.
struct RealRange {
  double low = -std::numeric_limits<double>::max(), high = std::numeric_limits<double>::max();
  bool open_low = false, open_high = false;

  bool contains(double value) const;
};

/// Formats a range for messages: "in [1, 64]", "of at least 1". A range without bounds is formatted
/// as the range of the type for integers, and as "" for real numbers.
std::string str(const IntegerRange<std::int64_t>& range);
std::string str(const IntegerRange<std::uint64_t>& range);
std::string str(const RealRange& range);

/// Parses the whole of `text` as a decimal integer in `range`. Nothing is truncated, clamped,
/// rounded or wrapped. Any other text (a sign that is not allowed, spaces, hexadecimal, a fraction,
/// a number out of range) throws an ArgumentError that names `what`, the range and the text.
std::int64_t parse_integer(std::string_view what, std::string_view text,
                           const IntegerRange<std::int64_t>& range = {});
std::uint64_t parse_unsigned(std::string_view what, std::string_view text,
                             const IntegerRange<std::uint64_t>& range = {});

/// Parses a number such as "0.1", "1e-3" or "5". Throws ArgumentError as described above, also for
/// NaN, infinity and numbers too large for a double.
double parse_real(std::string_view what, std::string_view text, const RealRange& range = {});

/// Parses numbers separated by commas, such as "1,2.5". The text "" is an empty list. Throws
/// ArgumentError as described above.
std::vector<double> parse_reals(std::string_view what, std::string_view text);

/// Parses a number of bytes: "1000", "500MiB", "2GiB", "1.5 GB". KB, MB, ... are powers of 1024,
/// like KiB, MiB, ... The maximum is 2^62. Throws ArgumentError as described above.
std::uint64_t parse_bytes(std::string_view what, std::string_view text);

/// Parses a duration of at least 0 and returns seconds: "50us", "1.5ms", "2s", "300ns". Throws
/// ArgumentError as described above.
double parse_duration(std::string_view what, std::string_view text);

/// Formats a number with thousands separators: 1234567 as "1,234,567".
std::string grouped(std::int64_t number);

}  // namespace weft
