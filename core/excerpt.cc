#include "weft/core/excerpt.h"

#include <fmt/format.h>

namespace weft {
namespace {

/// Returns the length in bytes of the character at the start of `text`, or 0 if `text` does not
/// start with valid UTF-8.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and code points above U+10FFFF are detected by the second byte.
  const unsigned char second = byte(1);
  const bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                     (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return wrong ? 0 : length;
}

std::string escaped(std::string_view text, std::size_t most, bool controls) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (out.size() >= most) return out + fmt::format("... ({} bytes)", text.size());
    const std::size_t length = character_bytes(text.substr(at));
    const auto byte = static_cast<unsigned char>(text[at]);
    if (length == 0 || (controls && (byte < 0x20 || byte == 0x7F))) {
      out += fmt::format("\\x{:02x}", byte);
      ++at;
      continue;
    }
    out += text.substr(at, length);
    at += length;
  }
  return out;
}

}  // namespace

std::string as_utf8(std::string_view text, std::size_t most) { return escaped(text, most, false); }

std::string excerpt(std::string_view text, std::size_t most) { return escaped(text, most, true); }

}  // namespace weft
