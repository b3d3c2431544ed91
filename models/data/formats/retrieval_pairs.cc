#include "weft/models/data/formats/retrieval_pairs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "weft/core/error.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/models/text/corpus/lines.h"
#include "weft/models/text/corpus/text_file.h"

namespace weft {
namespace {

RetrievalPair read_pair(const std::string& place, std::string_view line) {
  std::vector<std::string> texts;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    texts.emplace_back(trimmed_line(line.substr(begin, end - begin)));
    begin = end + 1;
  }
  if (texts.size() < 2) {
    throw FormatError(fmt::format(
        "{}: expected 'query <tab> passage [<tab> negative ...]', not a line with one column",
        place));
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!texts[i].empty()) continue;
    throw FormatError(fmt::format("{}: {} is empty: add the text or remove the line", place,
                                  i == 0   ? "the query"
                                  : i == 1 ? "the passage"
                                           : fmt::format("negative {}", i - 1)));
  }
  return {std::move(texts[0]), std::move(texts[1]), {texts.begin() + 2, texts.end()}};
}

}  // namespace

std::int64_t RetrievalPairs::most_negatives() const {
  std::size_t most = 0;
  for (const RetrievalPair& line : lines) most = std::max(most, line.negatives.size());
  return static_cast<std::int64_t>(most);
}

std::vector<std::string> RetrievalPairs::texts() const {
  std::vector<std::string> all;
  for (const RetrievalPair& line : lines) {
    all.push_back(line.query);
    all.push_back(line.passage);
    all.insert(all.end(), line.negatives.begin(), line.negatives.end());
  }
  return all;
}

RetrievalPairs read_retrieval_pairs(std::span<const std::string> paths) {
  RetrievalPairs result;
  for (const std::string& path : paths) {
    for_lines(read_utf8_file(path), [&](std::int64_t number, std::string_view line) {
      if (trimmed_line(line).empty()) return;
      result.lines.push_back(read_pair(fmt::format("{}:{}", path, number), line));
    });
  }
  if (result.lines.empty()) {
    throw FormatError(
        fmt::format("{}: there is no line with a query and a passage", fmt::join(paths, ", ")));
  }
  return result;
}

RetrievalSplit hold_out(const RetrievalPairs& all, double fraction, std::uint64_t seed) {
  std::map<std::string_view, std::size_t> passages;  // numbered by their first lines
  for (const RetrievalPair& line : all.lines) passages.emplace(line.passage, passages.size());
  const std::vector<bool> held_out =
      held_out_examples(static_cast<std::int64_t>(passages.size()), fraction, seed);
  if (fraction > 0 && passages.size() < 2) {
    throw DataError(
        fmt::format("none of {} lines can be held out, because all of them have the same passage: "
                    "add lines with "
                    "other passages or specify the validation lines (--validation)",
                    all.size()));
  }
  RetrievalSplit split;
  for (const RetrievalPair& line : all.lines)
    (held_out[passages.at(line.passage)] ? split.held_out : split.train).lines.push_back(line);
  return split;
}

}  // namespace weft
