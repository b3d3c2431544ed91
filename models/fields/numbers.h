// Numbers in text: those that users write are read in this one place, strictly.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Integers that are legal: both ends are.
template <class Int>
struct IntegerRange {
  Int low = std::numeric_limits<Int>::min(), high = std::numeric_limits<Int>::max();
};

/// Numbers that are legal: finite ones between the ends, which are legal unless they are open.
struct RealRange {
  double low = -std::numeric_limits<double>::max(), high = std::numeric_limits<double>::max();
  bool open_low = false, open_high = false;

  bool contains(double value) const;
};

/// A range as messages say it: "in [1, 64]", "of at least 1". Without any bound it is that of the
/// type where numbers are integers, and "" where they are not.
std::string str(const IntegerRange<std::int64_t>& range);
std::string str(const IntegerRange<std::uint64_t>& range);
std::string str(const RealRange& range);

/// The whole of `text` as a decimal integer in `range`. Nothing is cut, clamped, rounded or
/// wrapped: ArgumentError that names `what`, the range and the text for everything else (signs
/// where none can be, spaces, hexadecimal, a fraction, a number that does not fit).
std::int64_t parse_integer(std::string_view what, std::string_view text,
                           const IntegerRange<std::int64_t>& range = {});
std::uint64_t parse_unsigned(std::string_view what, std::string_view text,
                             const IntegerRange<std::uint64_t>& range = {});

/// The same for "0.1", "1e-3", "5". NaN, infinity, and what is too large for a double are errors.
double parse_real(std::string_view what, std::string_view text, const RealRange& range = {});

/// Bytes: "1000", "500MiB", "2GiB", "1.5 GB"; KB, MB, ... are powers of 1024 as KiB, MiB, ... are.
/// At most 2^62. ArgumentError as above.
std::uint64_t parse_bytes(std::string_view what, std::string_view text);

/// Bytes per second of a network: "10Gbit/s", "100 Mbit/s", "1.25GB/s"; k, M, G, T are powers of
/// 1000. Above 0. ArgumentError as above.
double parse_speed(std::string_view what, std::string_view text);
/// Seconds: "50us", "1.5ms", "2s", "300ns". At least 0. ArgumentError as above.
double parse_duration(std::string_view what, std::string_view text);

/// 1234567 as "1,234,567".
std::string grouped(std::int64_t number);

}  // namespace weft
