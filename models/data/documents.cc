#include "weft/models/data/documents.h"

#include <algorithm>

#include "weft/models/data/text.h"

namespace weft {

std::vector<TextDocument> read_documents(std::span<const std::string> paths) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<TextDocument> documents;
  for (const std::string& path : paths) {
    const std::string text = read_text_file(path);
    bool begins = true;
    for (std::string_view left = text; !left.empty();) {
      const std::size_t end = std::min(left.find('\n'), left.size());
      std::string_view line = left.substr(0, end);
      left.remove_prefix(std::min(end + 1, left.size()));
      const std::size_t first = line.find_first_not_of(kBlanks);
      if (first == std::string_view::npos) {
        begins = true;
        continue;
      }
      line = line.substr(first, line.find_last_not_of(kBlanks) - first + 1);
      if (begins) documents.emplace_back();
      begins = false;
      documents.back().emplace_back(line);
    }
  }
  return documents;
}

}  // namespace weft
