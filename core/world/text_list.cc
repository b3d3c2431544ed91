#include "weft/core/world/text_list.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "weft/core/error.h"

namespace weft {

void append_text(std::string& list, std::string_view text) {
  const std::uint64_t size = text.size();
  list.append(reinterpret_cast<const char*>(&size), sizeof size);
  list.append(text);
}

std::vector<std::string> split_texts(std::string_view list) {
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < list.size();) {
    std::uint64_t size = 0;
    if (list.size() - at < sizeof size) {
      throw FormatError(
          fmt::format("a list of texts ends at byte {}, inside the length that begins at byte {}",
                      list.size(), at));
    }
    std::memcpy(&size, list.data() + at, sizeof size);
    at += sizeof size;
    if (size > list.size() - at) {
      throw FormatError(
          fmt::format("a list of texts ends at byte {}, but the text at byte {} has {} bytes",
                      list.size(), at, size));
    }
    texts.emplace_back(list.substr(at, size));
    at += size;
  }
  return texts;
}

}  // namespace weft
