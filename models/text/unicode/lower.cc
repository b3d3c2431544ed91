#include "weft/models/text/unicode/lower.h"

#include "weft/models/text/unicode/properties.h"
#include "weft/models/text/unicode/utf8.h"

namespace weft {

std::string in_lower_case(std::string_view text) {
  constexpr char32_t kDottedI = 0x130, kDotAbove = 0x307;  // the only character that becomes two
  std::string lower;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    append_utf8(lower, lower_case(c));
    if (c == kDottedI) append_utf8(lower, kDotAbove);
  }
  return lower;
}

}  // namespace weft
