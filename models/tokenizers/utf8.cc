#include "weft/models/tokenizers/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "weft/core/error.h"

namespace weft {

char32_t next_code_point(std::string_view text, std::size_t& offset) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto fail = [&](std::string_view what) {
    throw FormatError(
        fmt::format("not UTF-8: {} at byte {} (0x{:02x})", what, offset, byte(offset)));
  };
  const unsigned char first = byte(offset);
  if (first < 0x80) {
    ++offset;
    return first;
  }
  const int length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) fail("a byte that starts no character");
  if (offset + static_cast<std::size_t>(length) > text.size()) fail("the text ends in a character");
  char32_t c = first & (0xFF >> (length + 1));
  for (int i = 1; i < length; ++i) {
    const unsigned char next = byte(offset + static_cast<std::size_t>(i));
    if ((next & 0xC0) != 0x80) fail("an unfinished character");
    c = c << 6 | (next & 0x3F);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (c < kSmallest[length]) fail("an overlong character");
  if (c >= 0xD800 && c <= 0xDFFF) fail("a surrogate");
  if (c > 0x10FFFF) fail("a character beyond U+10FFFF");
  offset += static_cast<std::size_t>(length);
  return c;
}

std::size_t valid_character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong ones, surrogates, and those beyond U+10FFFF.
  const unsigned char second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
    return 0;
  return length;
}

std::size_t character_size(std::string_view text, std::size_t begin) {
  constexpr std::array<std::uint8_t, 16> kSizes = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
  const std::size_t size = kSizes[static_cast<unsigned char>(text[begin]) >> 4];
  return std::min(size, text.size() - begin);
}

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t b) { out.push_back(static_cast<char>(b)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

std::size_t unfinished_bytes(std::string_view text) {
  for (std::size_t size = 1; size <= 3 && size <= text.size(); ++size) {
    const auto byte = static_cast<unsigned char>(text[text.size() - size]);
    if ((byte & 0xC0) == 0x80) continue;  // goes on with a character
    const std::size_t wanted = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return size < wanted ? size : 0;
  }
  return 0;
}

std::string describe_character(char32_t c) {
  const bool prints = c >= 0x20 && !(c >= 0x7F && c < 0xA0);
  if (!prints) return fmt::format("U+{:04X}", static_cast<std::uint32_t>(c));
  std::string text;
  append_utf8(text, c);
  return fmt::format("'{}' (U+{:04X})", text, static_cast<std::uint32_t>(c));
}

}  // namespace weft
