// Texts, or pairs of texts, with a number each: how much alike the two are, or how good a text is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

struct ScoredPair {
  std::string first, second;  // the second is "" where texts stand alone
  double score = 0;
  friend bool operator==(const ScoredPair&, const ScoredPair&) = default;
};

struct ScoredPairs {
  std::vector<ScoredPair> lines;
  bool pairs = true;  // false: texts that stand alone

  std::int64_t size() const { return static_cast<std::int64_t>(lines.size()); }
  /// "pairs" or "texts".
  const char* unit() const { return pairs ? "pairs" : "texts"; }
  std::vector<double> scores() const;
  /// All first texts, then all second ones.
  std::vector<std::string> texts() const;
};

/// Reads UTF-8 files of lines "score <tab> text <tab> text", or all of lines "score <tab> text".
/// Blanks around the parts are dropped, and so are blank lines. Throws IoError; FormatError with
/// file and line for a line of another form, a score that is no number (of at most 1e30, either
/// sign) and a text that is empty, and where there is no line.
ScoredPairs read_scored_pairs(std::span<const std::string> paths);

struct ScoredSplit {
  ScoredPairs train, held_out;
};
/// About `fraction` of the lines are held out, chosen at random: a function of their number,
/// fraction and seed. Both parts keep the order of the lines. Unless the fraction is 0, a line at
/// least is held out, and one at least trains. Throws ArgumentError unless 0 <= fraction < 1,
/// DataError where there are too few lines.
ScoredSplit hold_out(const ScoredPairs& all, double fraction, std::uint64_t seed);

}  // namespace weft
