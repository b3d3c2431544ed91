// Text format of numbers, names and strings, shared by the printer and the parser.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// Returns true if `name` needs no quotes: it begins with a letter or "_", continues with letters,
/// digits and "_.-/", and does not contain "//".
bool is_plain_name(std::string_view name);
/// Returns true if a plain name may contain `c` after its first character.
bool continues_plain_name(char c);
/// Returns the name itself if it is plain, otherwise the quoted name.
std::string quote_if_needed(std::string_view name);
/// Returns the text in double quotes, with escapes.
std::string quote(std::string_view text);

/// Formats `value` as the shortest decimal number that is parsed as the same double: "0.1", "3",
/// "1e-05", "-0", "inf", "nan". NaNs other than the canonical one are printed with their bits:
/// "nan(0x7ff8000000000001)".
std::string float_text(double value);
/// Formats element `index` of a tensor. Floating-point elements are formatted in the same way as by
/// float_text(), but with the shortest number for their dtype (0.1 in f32 is "0.1") and the NaN
/// bits of their dtype. Integers are decimal; bools are "true" or "false".
std::string element_text(const Tensor& tensor, std::int64_t index);

/// Parses a number: a decimal or hexadecimal float, an integer, inf or nan. Returns nullopt if the
/// text is not a number.
std::optional<double> parse_float(std::string_view text);
/// Parses a decimal integer. Returns nullopt if the text is not an integer that fits i64.
std::optional<std::int64_t> parse_integer(std::string_view text);
/// Parses a number, rounds it to the dtype of the tensor and writes it to element `index`. Returns
/// false if the text is not a number or is out of the range of the dtype.
bool parse_element(std::string_view text, Tensor& tensor, std::int64_t index);

}  // namespace weft
