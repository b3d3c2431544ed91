#include "weft/models/data/formats/documents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "weft/core/error.h"
#include "weft/models/data/formats/labelled_text.h"
#include "weft/models/text/corpus/lines.h"
#include "weft/models/text/corpus/text_file.h"

namespace weft {
namespace {

std::vector<TextDocument> checked(std::vector<TextDocument> found,
                                  std::span<const std::string> paths) {
  if (found.empty() && !paths.empty())
    throw DataError(fmt::format("{}: there is no text in the files", fmt::join(paths, ", ")));
  return found;
}

}  // namespace

std::vector<TextDocument> read_documents(std::span<const std::string> paths) {
  std::vector<TextDocument> documents;
  for (const std::string& path : paths) {
    bool begins = true;
    for_lines(read_utf8_file(path), [&](std::int64_t, std::string_view line) {
      line = trimmed_line(line);
      if (!line.empty()) {
        if (begins) documents.emplace_back();
        documents.back().emplace_back(line);
      }
      begins = line.empty();
    });
  }
  return checked(std::move(documents), paths);
}

std::vector<TextDocument> read_single_texts(std::span<const std::string> paths) {
  std::vector<TextDocument> documents;
  for (const std::string& path : paths) {
    for (std::string& line : read_lines(path)) documents.push_back({std::move(line)});
  }
  return checked(std::move(documents), paths);
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
