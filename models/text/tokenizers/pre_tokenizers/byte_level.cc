#include "weft/models/text/tokenizers/pre_tokenizers/byte_level.h"

#include <utility>

#include "weft/models/text/tokenizers/pre_tokenizers/known_patterns.h"
#include "weft/models/text/unicode/characters.h"

namespace weft {
namespace {

std::array<char32_t, 256> make_byte_characters() {
  std::array<char32_t, 256> characters{};
  char32_t next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool prints =
        (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    characters[byte] = prints ? byte : next++;
  }
  return characters;
}

}  // namespace

const std::array<char32_t, 256>& byte_characters() {
  static const std::array<char32_t, 256> characters = make_byte_characters();
  return characters;
}

std::optional<unsigned char> byte_of_character(char32_t c) {
  if (c < 256) {
    if (byte_characters()[c] == c) return static_cast<unsigned char>(c);
    return std::nullopt;
  }
  static const auto others = [] {
    std::array<unsigned char, 68> bytes{};
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (byte_characters()[byte] >= 256)
        bytes[byte_characters()[byte] - 256] = static_cast<unsigned char>(byte);
    }
    return bytes;
  }();
  if (c - 256 >= others.size()) return std::nullopt;
  return others[c - 256];
}

std::optional<std::string> spelled_bytes(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = byte_of_character(take_character(text, at));
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
  }
  return bytes;
}

void write_byte_characters(TextEdit& edit) {
  while (!edit.at_end()) {
    const std::string_view rest = edit.rest();
    const std::string_view character = rest.substr(0, character_size(rest.front()));
    bool first = true;
    for (const char byte : character) {
      const char32_t c = byte_characters()[static_cast<unsigned char>(byte)];
      if (std::exchange(first, false)) {
        edit.replace(c);
      } else {
        edit.add(c);
      }
    }
  }
}

namespace pre_tokenizers {

void ByteLevel::split(SplitText& parts) const {
  if (settings_.add_prefix_space) {
    parts.rewrite([](std::string_view text) { return !text.starts_with(' '); },
                  [&](TextEdit& edit) {
                    if (parts.place == TextPlace::beginning || !edit.at_input_begin())
                      edit.prepend(" ");
                    edit.keep_rest();
                  });
  }
  if (settings_.use_regex) {
    parts.split([](std::string_view text, const auto& emit) { split_as_gpt2(text, emit); });
  }
  if (parts.takes_bytes) {
    parts.bytes = true;
  } else {
    parts.rewrite([](std::string_view) { return true; }, write_byte_characters);
  }
}

}  // namespace pre_tokenizers
}  // namespace weft
