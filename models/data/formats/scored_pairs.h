// Texts or text pairs with a score, such as the similarity of two texts or the rating of a text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

struct ScoredPair {
  std::string first, second;  // `second` is "" for single texts
  double score = 0;
  friend bool operator==(const ScoredPair&, const ScoredPair&) = default;
};

struct ScoredPairs {
  std::vector<ScoredPair> lines;
  bool pairs = true;  // false for single texts

  std::int64_t size() const { return static_cast<std::int64_t>(lines.size()); }
  /// Returns "pairs" or "texts".
  const char* unit() const { return pairs ? "pairs" : "texts"; }
  std::vector<double> scores() const;
  /// Returns all first texts, followed by all second texts.
  std::vector<std::string> texts() const;
};

/// Reads UTF-8 files. Either all lines have the form "score <tab> text <tab> text", or all lines
/// have the form "score <tab> text". Blanks around the columns and blank lines are dropped. Throws
/// IoError. Throws FormatError with file and line if a line has a different form, if a score is not
/// a number in [-1e30, 1e30], or if a text is empty. Throws FormatError if there are no lines.
ScoredPairs read_scored_pairs(std::span<const std::string> paths);

struct ScoredSplit {
  ScoredPairs train, held_out;
};
/// Holds out about `fraction` of the lines, selected at random. The selection is a function of the
/// number of lines, fraction and seed. The order of the lines is kept in both parts. Unless the
/// fraction is 0, each part contains at least one line. Throws ArgumentError unless 0 <= fraction <
/// 1. Throws DataError if there are too few lines.
ScoredSplit hold_out(const ScoredPairs& all, double fraction, std::uint64_t seed);

}  // namespace weft
