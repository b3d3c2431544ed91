#include "weft/models/text/corpus/text_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/text/unicode/utf8.h"
#include "weft/serialization/files/byte_order_mark.h"
#include "weft/serialization/files/read_file.h"

namespace weft {
std::string read_utf8_file(const std::string& path) {
  return checked_utf8(read_whole_file(path), path);
}

std::string checked_utf8(std::string text, const std::string& path) {
  text.erase(0, byte_order_mark(text, path));
  std::size_t at = 0;
  try {
    while (at < text.size()) {
      // Most characters are ASCII.
      if (static_cast<unsigned char>(text[at]) < 0x80) {
        ++at;
      } else {
        next_code_point(text, at);
      }
    }
  } catch (const FormatError& e) {
    const auto line =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
    throw FormatError(fmt::format("{}, line {}: {}", path, line, e.what()));
  }
  return text;
}

}  // namespace weft
