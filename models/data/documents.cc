#include "weft/models/data/documents.h"

#include <algorithm>

#include "weft/models/data/labelled_text.h"
#include "weft/models/data/text.h"

namespace weft {

std::vector<TextDocument> read_documents(std::span<const std::string> paths) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<TextDocument> documents;
  for (const std::string& path : paths) {
    const std::string text = read_utf8_file(path);
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

std::vector<TextDocument> read_single_texts(std::span<const std::string> paths) {
  std::vector<TextDocument> documents;
  for (const std::string& path : paths) {
    for (std::string& line : read_lines(path)) documents.push_back({std::move(line)});
  }
  return documents;
}

std::vector<std::string> sentences(std::span<const TextDocument> documents) {
  std::vector<std::string> all;
  for (const TextDocument& document : documents)
    all.insert(all.end(), document.begin(), document.end());
  return all;
}

DocumentSplit split_documents(std::vector<TextDocument> documents, double fraction) {
  DocumentSplit result;
  double due = 0;
  for (TextDocument& document : documents) {
    due += fraction;
    (due >= 1 ? result.validation : result.train).push_back(std::move(document));
    if (due >= 1) due -= 1;
  }
  return result;
}

}  // namespace weft
