// Pieces that represent single bytes, for example "<0x0A>".
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

inline std::string byte_piece(unsigned char byte) { return fmt::format("<0x{:02X}>", byte); }

/// Returns the byte that `piece` represents, or std::nullopt if it is not a byte piece. Hexadecimal
/// digits may be upper or lower case.
inline std::optional<unsigned char> byte_of_piece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return std::nullopt;
  int byte = 0;
  for (const char c : piece.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    byte = byte * 16 + digit;
  }
  return static_cast<unsigned char>(byte);
}

}  // namespace weft
