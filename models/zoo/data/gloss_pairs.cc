#include "weft/models/zoo/data/gloss_pairs.h"

#include <algorithm>
#include <string_view>

namespace weft::zoo {
namespace {

std::string_view without_separators(std::string_view text) {
  constexpr std::string_view kSeparators = " ;:,\t";
  const std::size_t begin = text.find_first_not_of(kSeparators);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSeparators) - begin + 1);
}

}  // namespace

RetrievalPairs gloss_pairs(const WordNetEntry& entry) {
  RetrievalPairs pairs;
  const std::string_view gloss = entry.gloss;
  const std::string definition(without_separators(gloss.substr(0, gloss.find('"'))));
  for (std::size_t open = gloss.find('"'); open < gloss.size();) {
    const std::size_t close = std::min(gloss.find('"', open + 1), gloss.size());
    const std::string example(without_separators(gloss.substr(open + 1, close - open - 1)));
    if (!definition.empty() && !example.empty()) pairs.lines.push_back({example, definition, {}});
    open = close < gloss.size() ? gloss.find('"', close + 1) : close;
  }
  return pairs;
}

RetrievalPairs read_gloss_pairs(const std::string& folder) {
  RetrievalPairs all;
  for_each_synset(folder, [&](const WordNetEntry& entry) {
    for (RetrievalPair& pair : gloss_pairs(entry).lines) all.lines.push_back(std::move(pair));
  });
  return all;
}

}  // namespace weft::zoo
