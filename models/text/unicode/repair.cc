#include "weft/models/text/unicode/repair.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "weft/models/text/unicode/utf8.h"

namespace weft {
std::size_t find_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t eight = 0;
    if (at + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080U) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const int size = examine_character(text, at);
    if (size < 0) return at;
    at += static_cast<std::size_t>(size);
  }
  return at;
}

void require_utf8(std::string_view text) {
  std::size_t at = find_invalid_utf8(text);
  if (at < text.size()) next_code_point(text, at);
}

RepairedText repair(std::string_view text) {
  RepairedText result;
  for (std::size_t at = 0; at < text.size();) {
    const int size = examine_character(text, at);
    const auto bytes = static_cast<std::size_t>(std::abs(size));
    const Span from{static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + bytes)};
    result.text += size < 0 ? kReplacementCharacter : text.substr(at, bytes);
    result.spans.resize(result.text.size(), from);
    at += bytes;
  }
  return result;
}

std::string repaired(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t good = find_invalid_utf8(text);
    result += text.substr(0, good);
    if (good == text.size()) break;
    result += kReplacementCharacter;
    text.remove_prefix(good + static_cast<std::size_t>(-examine_character(text, good)));
  }
  return result;
}

}  // namespace weft
