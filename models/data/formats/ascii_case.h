// Conversion of ASCII letters to lower case. All other characters are unchanged.
#pragma once

#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Converts A to Z to lower case.
inline char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }
inline std::string ascii_lower(std::string_view text) {
  std::string result;
  for (const char c : text) result += ascii_lower(c);
  return result;
}

}  // namespace weft
