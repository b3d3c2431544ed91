// Numbers, names and strings as text: what printer and parser share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// Letters, digits and "_.-/", not starting with a digit or sign: needs no quotes.
bool is_plain_name(std::string_view name);
bool continues_plain_name(char c);
/// The name itself, or in quotes with escapes.
std::string quote_if_needed(std::string_view name);
std::string quote(std::string_view text);

/// The shortest decimal number that reads back as the same double: "0.1", "3", "1e-05", "-0",
/// "inf", "nan"; a NaN other than the usual one has its bits: "nan(0x7ff8000000000001)".
std::string float_text(double value);
/// The same for element `index` of a floating tensor, the shortest for its dtype (0.1 in f32 is
/// "0.1"; bits of NaNs are those of the dtype); integers in decimal; "true" and "false".
std::string element_text(const Tensor& tensor, std::int64_t index);

/// A number read from text: decimal or hexadecimal float, integer, inf, nan; nullopt if it is none.
std::optional<double> parse_float(std::string_view text);
std::optional<std::int64_t> parse_integer(std::string_view text);
/// Writes an element, the value of the dtype that is nearest to the number; false if the text is no
/// number, or one that the dtype does not reach.
bool parse_element(std::string_view text, Tensor& tensor, std::int64_t index);

}  // namespace weft
