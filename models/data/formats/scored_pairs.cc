#include "weft/models/data/formats/scored_pairs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "weft/core/error.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/text/corpus/lines.h"
#include "weft/models/text/corpus/text_file.h"

namespace weft {
namespace {

/// Maximum absolute score. A limit is necessary because models compute in float32.
constexpr double kLargestScore = 1e30;

std::vector<std::string_view> columns(std::string_view line) {
  std::vector<std::string_view> result;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    result.push_back(trimmed_line(line.substr(begin, end - begin)));
    begin = end + 1;
  }
  return result;
}

/// Parses a non-blank line. `place` is its location for messages. The first line determines the
/// form of all lines.
ScoredPair read_line(const std::string& place, std::string_view line, std::optional<bool>& pairs) {
  const std::vector<std::string_view> parts = columns(line);
  if (!pairs && (parts.size() == 2 || parts.size() == 3)) pairs = parts.size() == 3;
  if (!pairs || parts.size() != (*pairs ? 3U : 2U)) {
    throw FormatError(
        fmt::format("{}: expected {}, not a line with {} columns", place,
                    !pairs   ? "a score and one or two texts separated by tabs"
                    : *pairs ? "a score and two texts separated by tabs, as in the previous lines"
                             : "a score and a text separated by a tab, as in the previous lines",
                    parts.size()));
  }
  ScoredPair pair{std::string(parts[1]), *pairs ? std::string(parts[2]) : std::string()};
  try {
    pair.score = parse_real("the score", parts[0], {-kLargestScore, kLargestScore});
  } catch (const ArgumentError& e) {
    throw FormatError(fmt::format("{}: {}", place, e.what()));
  }
  if (pair.first.empty() || (*pairs && pair.second.empty()))
    throw FormatError(fmt::format("{}: a text is empty: add the text or remove the line", place));
  return pair;
}

}  // namespace

std::vector<double> ScoredPairs::scores() const {
  std::vector<double> result;
  for (const ScoredPair& line : lines) result.push_back(line.score);
  return result;
}

std::vector<std::string> ScoredPairs::texts() const {
  std::vector<std::string> result;
  for (const ScoredPair& line : lines) result.push_back(line.first);
  if (!pairs) return result;
  for (const ScoredPair& line : lines) result.push_back(line.second);
  return result;
}

ScoredPairs read_scored_pairs(std::span<const std::string> paths) {
  ScoredPairs result;
  std::optional<bool> pairs;
  for (const std::string& path : paths) {
    for_lines(read_utf8_file(path), [&](std::int64_t number, std::string_view line) {
      if (trimmed_line(line).empty()) return;
      result.lines.push_back(read_line(fmt::format("{}:{}", path, number), line, pairs));
    });
  }
  if (!pairs)
    throw FormatError(fmt::format("{}: there is no line with a score", fmt::join(paths, ", ")));
  result.pairs = *pairs;
  return result;
}

ScoredSplit hold_out(const ScoredPairs& all, double fraction, std::uint64_t seed) {
  const std::vector<bool> held_out = held_out_examples(all.size(), fraction, seed);
  if (fraction > 0 && all.size() < 2)
    throw DataError(fmt::format("none of {} lines can be held out", all.size()));
  ScoredSplit split{{{}, all.pairs}, {{}, all.pairs}};
  for (std::size_t i = 0; i < all.lines.size(); ++i)
    (held_out[i] ? split.held_out : split.train).lines.push_back(all.lines[i]);
  return split;
}

}  // namespace weft
