// Texts or text pairs with a score, such as the similarity of two texts or the rating of one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

struct ScoredPair {
  std::string first, second;  // second is "" for single texts
  double score = 0;
  friend bool operator==(const ScoredPair&, const ScoredPair&) = default;
};

struct ScoredPairs {
  std::vector<ScoredPair> lines;
  bool pairs = true;  // false: single texts

  std::int64_t size() const { return static_cast<std::int64_t>(lines.size()); }
  /// Returns "pairs" or "texts".
  const char* unit() const { return pairs ? "pairs" : "texts"; }
  std::vector<double> scores() const;
  /// Returns all first texts, then all second ones.
  std::vector<std::string> texts() const;
};

/// Reads UTF-8 files whose lines are all "score <tab> text <tab> text", or all "score <tab> text".
/// Blanks around the columns and blank lines are dropped. Throws IoError; FormatError with file and
/// line for a line of another form, a score that is not a number in [-1e30, 1e30] and an empty
/// text, and if there are no lines.
ScoredPairs read_scored_pairs(std::span<const std::string> paths);

struct ScoredSplit {
  ScoredPairs train, held_out;
};
/// Holds out about `fraction` of the lines, selected at random: a function of the number of lines,
/// fraction and seed. Both parts keep the order of the lines. Unless the fraction is 0, both parts
/// get at least one line. Throws ArgumentError unless 0 <= fraction < 1, DataError if there are too
/// few lines.
ScoredSplit hold_out(const ScoredPairs& all, double fraction, std::uint64_t seed);

}  // namespace weft
