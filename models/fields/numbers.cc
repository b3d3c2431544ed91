#include "weft/models/fields/numbers.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <type_traits>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"

namespace weft {
namespace {

template <class Int>
std::string range_text(const IntegerRange<Int>& range) {
  using Limits = std::numeric_limits<Int>;
  // For unsigned types the bounds are always printed, because users cannot infer them from the
  // rejected number.
  const bool from = std::is_unsigned_v<Int> || range.low != Limits::min();
  const bool to = std::is_unsigned_v<Int> || range.high != Limits::max();
  if (from && to) return fmt::format("in [{}, {}]", range.low, range.high);
  if (from) return fmt::format("of at least {}", range.low);
  if (to) return fmt::format("of at most {}", range.high);
  return "";
}

/// Throws an error such as "--beams must be an integer in [1, 64], not 'many'".
[[noreturn]] void reject(std::string_view what, std::string_view kind, const std::string& range,
                         std::string_view text) {
  throw ArgumentError(fmt::format("{} must be {}{}{}, not {}", what, kind, range.empty() ? "" : " ",
                                  range,
                                  text.empty() ? "empty" : fmt::format("'{}'", excerpt(text, 60))));
}

template <class Int>
Int integer(std::string_view what, std::string_view text, const IntegerRange<Int>& range) {
  Int value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || rest != end || value < range.low ||
      value > range.high) {
    std::string legal = range_text(range);
    // If the number does not fit in the type, the message should state the range.
    if (error == std::errc::result_out_of_range) legal = str(range);
    reject(what, "an integer", legal, text);
  }
  return value;
}

/// Parses a finite number. from_chars also accepts "inf" and "nan", which are rejected here.
bool read_real(std::string_view text, double& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return !text.empty() && error == std::errc() && rest == end && std::isfinite(value);
}

}  // namespace

bool RealRange::contains(double value) const {
  return std::isfinite(value) && (open_low ? value > low : value >= low) &&
         (open_high ? value < high : value <= high);
}

std::string str(const IntegerRange<std::int64_t>& range) {
  const std::string text = range_text(range);
  return text.empty() ? fmt::format("in [{}, {}]", range.low, range.high) : text;
}

std::string str(const IntegerRange<std::uint64_t>& range) {
  return fmt::format("in [{}, {}]", range.low, range.high);
}

std::string str(const RealRange& range) {
  const RealRange any;
  const bool from = range.low != any.low, to = range.high != any.high;
  if (from && to) {
    return fmt::format("in {}{}, {}{}", range.open_low ? '(' : '[', range.low, range.high,
                       range.open_high ? ')' : ']');
  }
  if (from) return fmt::format("{} {}", range.open_low ? "above" : "of at least", range.low);
  if (to) return fmt::format("{} {}", range.open_high ? "below" : "of at most", range.high);
  return "";
}

std::int64_t parse_integer(std::string_view what, std::string_view text,
                           const IntegerRange<std::int64_t>& range) {
  return integer(what, text, range);
}

std::uint64_t parse_unsigned(std::string_view what, std::string_view text,
                             const IntegerRange<std::uint64_t>& range) {
  return integer(what, text, range);
}

double parse_real(std::string_view what, std::string_view text, const RealRange& range) {
  double value = 0;
  if (!read_real(text, value) || !range.contains(value))
    reject(what, "a finite number", str(range), text);
  return value;
}

std::vector<double> parse_reals(std::string_view what, std::string_view text) {
  std::vector<double> values;
  while (!text.empty()) {
    const std::size_t end = text.find(',');
    values.push_back(parse_real(what, text.substr(0, end)));
    if (end == text.npos) break;
    text.remove_prefix(end + 1);
    if (text.empty()) parse_real(what, text);  // rejects a comma at the end
  }
  return values;
}

namespace {

/// Splits a text such as "1.5 GB" into its number, which is parsed, and its unit. Returns false if
/// the number is invalid.
bool read_unit(std::string_view text, double& value, std::string_view& unit) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  unit = end == std::string_view::npos ? std::string_view() : text.substr(end);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  return read_real(text.substr(0, end), value);
}

}  // namespace

double parse_duration(std::string_view what, std::string_view text) {
  double value = 0;
  std::string_view unit;
  const bool read = read_unit(text, value, unit);
  for (const auto& [name, seconds] :
       {std::pair{"s", 1.0}, std::pair{"ms", 1e-3}, std::pair{"us", 1e-6}, std::pair{"ns", 1e-9}}) {
    if (read && unit == name) return value * seconds;
  }
  reject(what, "a time", "(50us, 1.5ms, 2s)", text);
}

std::uint64_t parse_bytes(std::string_view what, std::string_view text) {
  constexpr std::string_view kUnits = "KMGTPE";
  constexpr double kMax = 0x1p62;
  const auto fail = [&] { reject(what, "a number of bytes", "(1000, 500MiB, 2GiB)", text); };
  const std::size_t end = text.find_first_not_of("0123456789.");
  std::string_view unit = end == std::string_view::npos ? std::string_view() : text.substr(end);
  double value = 0;
  if (!read_real(text.substr(0, end), value)) fail();
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  std::string name;
  for (const char c : unit) name += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  if (!name.empty() && name != "B") {
    const std::size_t power = kUnits.find(name.front());
    if (power == std::string_view::npos) fail();
    const std::string rest = name.substr(1);
    if (!(rest.empty() || rest == "B" || rest == "IB")) fail();
    value = std::ldexp(value, 10 * (static_cast<int>(power) + 1));
  } else if (unit.empty() && end != std::string_view::npos) {
    fail();
  }
  if (!(value <= kMax) || (name.empty() && value != std::floor(value))) fail();
  return static_cast<std::uint64_t>(value);
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

}  // namespace weft
