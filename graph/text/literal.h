// Numbers, names and strings as text: what printer and parser share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/core/tensor.h"

namespace weft {

/// Letters, digits and "_.-/", not starting with a digit or sign: needs no quotes.
bool is_plain_name(std::string_view name);
bool continues_plain_name(char c);
/// The name itself, or in quotes with escapes.
std::string quote_if_needed(std::string_view name);
std::string quote(std::string_view text);

/// Hexadecimal, so that every bit comes back: "0x1.8p+1", "-0x0p+0", "inf", "nan"; a NaN other than
/// the usual one has its bits: "nan(0x7ff8000000000001)".
std::string float_text(double value);
/// The same for element `index` of a floating tensor (bits of NaNs are those of its dtype);
/// integers in decimal; "true" and "false".
std::string element_text(const Tensor& tensor, std::int64_t index);

/// A number read from text: hexadecimal or decimal float, integer, inf, nan; nullopt if it is none.
std::optional<double> parse_float(std::string_view text);
std::optional<std::int64_t> parse_integer(std::string_view text);
/// Writes an element; false if the text is no value of the dtype.
bool parse_element(std::string_view text, Tensor& tensor, std::int64_t index);

}  // namespace weft
