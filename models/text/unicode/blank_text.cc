#include "weft/models/text/unicode/blank_text.h"

#include "weft/models/text/unicode/properties.h"
#include "weft/models/text/unicode/utf8.h"

namespace weft {

bool is_blank(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (examine_character(text, at) < 0 || !is_white_space(next_code_point(text, at))) return false;
  }
  return true;
}

}  // namespace weft
