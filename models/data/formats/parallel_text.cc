#include "weft/models/data/formats/parallel_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/models/text/corpus/lines.h"
#include "weft/models/text/corpus/text_file.h"

namespace weft {
namespace {

/// Returns, for each pair, the index of its source. Distinct sources are numbered in order of first
/// occurrence.
std::vector<std::size_t> source_indices(const std::vector<TextPair>& pairs, std::size_t* sources) {
  std::unordered_map<std::string_view, std::size_t> seen;
  std::vector<std::size_t> indices;
  for (const TextPair& pair : pairs)
    indices.push_back(seen.emplace(pair.source, seen.size()).first->second);
  *sources = seen.size();
  return indices;
}

}  // namespace

std::vector<TextPair> read_text_pairs(const std::string& path, std::int64_t* more_columns) {
  const std::string text = read_utf8_file(path);
  std::vector<TextPair> pairs;
  const std::string_view rest = text;
  std::size_t start = 0;
  for (std::int64_t number = 1; start < rest.size(); ++number) {
    const std::size_t end = std::min(rest.find('\n', start), rest.size());
    const std::string_view line = rest.substr(start, end - start);
    start = end + 1;
    if (trimmed_line(line).empty()) continue;
    const auto fail = [&](const std::string& what) {
      throw FormatError(
          fmt::format("{}, line {}: {}; expected source <tab> target", path, number, what));
    };
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) fail("there is no second column");
    const std::string_view target = line.substr(tab + 1);
    if (more_columns != nullptr && target.find('\t') != std::string_view::npos) ++*more_columns;
    TextPair pair{std::string(trimmed_line(line.substr(0, tab))),
                  std::string(trimmed_line(target.substr(0, target.find('\t'))))};
    if (pair.source.empty()) fail("the source is empty");
    if (pair.target.empty()) fail("the target is empty");
    pairs.push_back(std::move(pair));
  }
  if (pairs.empty()) throw FormatError(fmt::format("{} has no text pairs", path));
  return pairs;
}

TextPairSplit split_by_source(const std::vector<TextPair>& pairs, double held_out,
                              std::uint64_t seed) {
  if (!(held_out > 0 && held_out < 0.5)) {
    throw ArgumentError(
        fmt::format("the fraction of sources held out for each of validation and test must be in "
                    "(0, 0.5), not {}",
                    held_out));
  }
  std::size_t sources = 0;
  const std::vector<std::size_t> of_pair = source_indices(pairs, &sources);
  if (sources < 3) {
    throw DataError(fmt::format(
        "{} distinct sources cannot be split into training, validation and test", sources));
  }
  const auto part = std::max<std::size_t>(
      1, static_cast<std::size_t>(std::floor(held_out * static_cast<double>(sources))));
  const std::vector<std::int64_t> order =
      shuffled(static_cast<std::int64_t>(sources), stable_hash("weft.data.split", seed));
  std::vector<std::vector<TextPair> TextPairSplit::*> part_of(sources, &TextPairSplit::train);
  for (std::size_t i = 0; i < part; ++i) {
    part_of[static_cast<std::size_t>(order[i])] = &TextPairSplit::validation;
    part_of[static_cast<std::size_t>(order[part + i])] = &TextPairSplit::test;
  }
  TextPairSplit split;
  for (std::size_t i = 0; i < pairs.size(); ++i) (split.*part_of[of_pair[i]]).push_back(pairs[i]);
  return split;
}

std::vector<TranslationCase> group_by_source(const std::vector<TextPair>& pairs) {
  std::size_t sources = 0;
  const std::vector<std::size_t> of_pair = source_indices(pairs, &sources);
  std::vector<TranslationCase> cases(sources);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    TranslationCase& found = cases[of_pair[i]];
    found.source = pairs[i].source;
    if (std::find(found.references.begin(), found.references.end(), pairs[i].target) ==
        found.references.end()) {
      found.references.push_back(pairs[i].target);
    }
  }
  return cases;
}

}  // namespace weft
