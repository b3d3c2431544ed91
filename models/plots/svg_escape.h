// Text inside SVG documents. Internal to models/train.
#pragma once

#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// `text` with the characters that mean something to XML replaced.
inline std::string svg_escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace weft
