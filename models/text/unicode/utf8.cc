#include "weft/models/text/unicode/utf8.h"

#include <fmt/format.h>

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
  const auto length = static_cast<int>(character_size(text[offset]));
  if (first < 0xC2 || first > 0xF4) fail("an invalid first byte");
  if (offset + static_cast<std::size_t>(length) > text.size()) fail("a truncated character");
  char32_t c = first & (0xFF >> (length + 1));
  for (int i = 1; i < length; ++i) {
    const unsigned char next = byte(offset + static_cast<std::size_t>(i));
    if ((next & 0xC0) != 0x80) fail("an incomplete character");
    c = c << 6 | (next & 0x3F);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (c < kSmallest[length]) fail("an overlong character");
  if (c >= 0xD800 && c <= 0xDFFF) fail("a surrogate");
  if (c > 0x10FFFF) fail("a character beyond U+10FFFF");
  offset += static_cast<std::size_t>(length);
  return c;
}

int examine_character(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return -1;
  const auto size = static_cast<int>(character_size(text[at]));
  // The range of the second byte excludes overlong encodings, surrogates and values above U+10FFFF.
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
    const char byte = text[text.size() - size];
    if (!is_continuation(byte)) return size < character_size(byte) ? size : 0;
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
