#include "weft/graph/text/literal.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace weft {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Bits of the canonical NaN, which is printed as "nan" without bits.
std::uint64_t canonical_nan(std::size_t bytes, DType dtype) {
  if (bytes == 8) return 0x7ff8000000000000u;
  if (bytes == 4) return 0x7fc00000u;
  return dtype == DType::bf16 ? 0x7fc0u : 0x7e00u;
}

std::string nan_text(std::uint64_t bits, std::size_t bytes, DType dtype) {
  if (bits == canonical_nan(bytes, dtype)) return "nan";
  return fmt::format("nan(0x{:x})", bits);
}

// Parses "nan" or "nan(0x...)" and returns the bits, or nullopt for any other text.
std::optional<std::uint64_t> parse_nan(std::string_view text, std::size_t bytes, DType dtype) {
  if (text == "nan") return canonical_nan(bytes, dtype);
  constexpr std::string_view kStart = "nan(0x";
  if (text.substr(0, kStart.size()) != kStart || text.back() != ')') return std::nullopt;
  const std::string_view digits = text.substr(kStart.size(), text.size() - kStart.size() - 1);
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return bits;
}

bool is_nan_bits(std::uint64_t bits, DType dtype) {
  switch (dtype) {
    case DType::f64: return std::isnan(std::bit_cast<double>(bits));
    case DType::f32:
      return bits <= 0xffffffffu &&
             std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case DType::bf16: return bits <= 0xffffu && (bits & 0x7fffu) > 0x7f80u;
    case DType::f16: return bits <= 0xffffu && (bits & 0x7fffu) > 0x7c00u;
    default: return false;
  }
}

std::string_view shortest(char* begin, char* end, double value) {
  return {begin, std::to_chars(begin, end, value).ptr};
}
std::string_view shortest(char* begin, char* end, float value) {
  return {begin, std::to_chars(begin, end, value).ptr};
}

// Parses a decimal or hexadecimal number with an optional minus sign. The value is rounded only
// once, to T.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  const bool hex = text.substr(0, 2) == "0x";
  if (hex) text.remove_prefix(2);
  if (text.empty() || text[0] == '-') return std::nullopt;
  T value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value,
                      hex ? std::chars_format::hex : std::chars_format::general);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (std::isnan(value) || (hex && !std::isfinite(value))) return std::nullopt;
  return negative ? -value : value;
}

// Returns the bits of the 16-bit floating-point number nearest to `value`, or nullopt if a finite
// value would overflow to infinity.
std::optional<std::uint16_t> narrowed(double value, DType dtype) {
  const std::uint16_t bits =
      dtype == DType::bf16 ? to_bfloat16(value).bits : to_float16(value).bits;
  const unsigned infinity = dtype == DType::bf16 ? 0x7f80u : 0x7c00u;
  if (std::isfinite(value) && (bits & 0x7fffu) == infinity) return std::nullopt;
  return bits;
}

// Formats a number of a 16-bit dtype with the fewest digits that are parsed as the same number.
std::string narrow_text(double value, DType dtype) {
  char buffer[40];
  constexpr int kMaxDigits = 17;
  for (int digits = 1; digits < kMaxDigits && std::isfinite(value); ++digits) {
    const auto end =
        std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::general, digits);
    const std::string_view text(buffer, static_cast<std::size_t>(end.ptr - buffer));
    const std::optional<double> read = parse_number<double>(text);
    if (read && narrowed(*read, dtype) == narrowed(value, dtype)) return std::string(text);
  }
  return float_text(value);
}

template <class T>
bool parse_integer_element(std::string_view text, std::byte* out) {
  const std::optional<std::int64_t> value = parse_integer(text);
  if (!value || *value < std::numeric_limits<T>::min() || *value > std::numeric_limits<T>::max()) {
    return false;
  }
  const T element = static_cast<T>(*value);
  std::memcpy(out, &element, sizeof(T));
  return true;
}

}  // namespace

bool continues_plain_name(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '-' || c == '/';
}

bool is_plain_name(std::string_view name) {
  if (name.empty() || !(is_letter(name[0]) || name[0] == '_')) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!continues_plain_name(name[i])) return false;
    if (i > 0 && name[i] == '/' && name[i - 1] == '/') return false;  // would start a comment
  }
  return true;
}

std::string quote(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string quote_if_needed(std::string_view name) {
  return is_plain_name(name) ? std::string(name) : quote(name);
}

std::string float_text(double value) {
  if (std::isnan(value)) return nan_text(std::bit_cast<std::uint64_t>(value), 8, DType::f64);
  char buffer[40];
  return std::string(shortest(buffer, buffer + sizeof(buffer), value));
}

std::string element_text(const Tensor& tensor, std::int64_t index) {
  const DType dtype = tensor.dtype();
  const std::size_t size = dtype_size(dtype);
  if (is_floating(dtype)) {
    const double value = tensor.at(index);
    if (!std::isnan(value)) {
      if (dtype == DType::f64) return float_text(value);
      if (dtype != DType::f32) return narrow_text(value, dtype);
      char buffer[40];
      return std::string(shortest(buffer, buffer + sizeof(buffer), static_cast<float>(value)));
    }
    std::uint64_t bits = 0;  // little-endian
    std::memcpy(&bits, tensor.raw() + static_cast<std::size_t>(index) * size, size);
    return nan_text(bits, size, dtype);
  }
  if (dtype == DType::boolean) return tensor.data<bool>()[index] ? "true" : "false";
  if (dtype == DType::i64) return fmt::format("{}", tensor.data<std::int64_t>()[index]);
  return fmt::format("{}", static_cast<std::int64_t>(tensor.at(index)));
}

std::optional<double> parse_float(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (const auto bits = parse_nan(text, 8, DType::f64)) {
    return is_nan_bits(*bits, DType::f64) ? std::optional(std::bit_cast<double>(*bits))
                                          : std::nullopt;
  }
  return parse_number<double>(text);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool parse_element(std::string_view text, Tensor& tensor, std::int64_t index) {
  const DType dtype = tensor.dtype();
  const std::size_t size = dtype_size(dtype);
  std::byte* out = tensor.mutable_raw() + static_cast<std::size_t>(index) * size;
  if (dtype == DType::boolean) {
    if (text != "true" && text != "false") return false;
    const std::uint8_t value = text == "true" ? 1 : 0;
    std::memcpy(out, &value, 1);
    return true;
  }
  if (dtype == DType::i64) return parse_integer_element<std::int64_t>(text, out);
  if (dtype == DType::i32) return parse_integer_element<std::int32_t>(text, out);
  if (dtype == DType::i8) return parse_integer_element<std::int8_t>(text, out);
  if (dtype == DType::u8) return parse_integer_element<std::uint8_t>(text, out);
  if (text.empty()) return false;
  if (const auto bits = parse_nan(text, size, dtype)) {
    if (!is_nan_bits(*bits, dtype)) return false;
    std::memcpy(out, &*bits, size);  // little-endian
    return true;
  }
  const auto write = [&](const auto& element) {
    if (element) std::memcpy(out, &*element, sizeof(*element));
    return element.has_value();
  };
  if (dtype == DType::f32) return write(parse_number<float>(text));
  const std::optional<double> value = parse_number<double>(text);
  if (dtype == DType::f64 || !value) return write(value);
  return write(narrowed(*value, dtype));
}

}  // namespace weft
