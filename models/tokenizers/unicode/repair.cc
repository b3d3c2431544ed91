#include "weft/models/tokenizers/unicode/repair.h"

#include <cstdint>
#include <cstring>

#include "weft/models/tokenizers/utf8.h"

namespace weft {
namespace {

/// Bytes of the character at `at`, or minus the bytes that are broken there.
int examine(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return -1;
  const int size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms, surrogates and what is beyond U+10FFFF.
  unsigned char low = 0x80, high = 0xBF;
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  for (int i = 1; i < size; ++i) {
    const std::size_t next = at + static_cast<std::size_t>(i);
    if (next >= text.size() || byte(next) < low || byte(next) > high) return -i;
    low = 0x80;
    high = 0xBF;
  }
  return size;
}

}  // namespace

std::size_t first_broken(std::string_view text) {
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
    const int size = examine(text, at);
    if (size < 0) return at;
    at += static_cast<std::size_t>(size);
  }
  return at;
}

std::size_t broken_size(std::string_view text, std::size_t at) {
  const int size = examine(text, at);
  return size < 0 ? static_cast<std::size_t>(-size) : 0;
}

RepairedText repair(std::string_view text) {
  RepairedText result;
  for (std::size_t at = 0; at < text.size();) {
    const int size = examine(text, at);
    const bool broken = size < 0;
    const std::size_t bytes = static_cast<std::size_t>(broken ? -size : size);
    const Span from{static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + bytes)};
    const std::size_t begin = result.text.size();
    result.text += broken ? kReplacementCharacter : text.substr(at, bytes);
    result.spans.resize(result.text.size(), from);
    if (broken) {
      result.broken.push_back(
          {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(result.text.size())});
    }
    at += bytes;
  }
  return result;
}

std::string repaired(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t good = first_broken(text);
    result += text.substr(0, good);
    if (good == text.size()) break;
    result += kReplacementCharacter;
    text.remove_prefix(good + broken_size(text, good));
  }
  return result;
}

}  // namespace weft
