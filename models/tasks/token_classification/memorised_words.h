// Words whose tags are known by heart: what a tagger must beat.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/data/tagged_text.h"
#include "weft/models/metrics/span_f1.h"

namespace WEFT_API weft {

/// Gives every word the tag that it has most often in the sentences that were learned, whatever
/// stands beside it (of equally frequent tags the first in order of letters), "O" to words that
/// are not in them.
class MemorisedWords {
 public:
  /// `fold_case`: A to Z are read as a to z.
  MemorisedWords(std::span<const TaggedSentence> train, bool fold_case);

  /// A tag for every word.
  std::vector<std::string> operator()(std::span<const std::string> words) const;
  /// What that is worth.
  SpanScores score(std::span<const TaggedSentence> sentences) const;

 private:
  std::string read(std::string_view word) const;

  bool fold_case_;
  std::map<std::string, std::string, std::less<>> tags_;  // "O" is left out
};

/// Both forms, and what the better one is worth.
struct TaggingBaseline {
  bool fold_case = false;
  double validation_f1 = 0;  // of what was chosen
  SpanScores test;
};
/// Learns `train` by heart with and without case, takes what finds more of `validation` (the words
/// as they are written where both find as much), and measures that on `test`.
TaggingBaseline memorised_words_baseline(std::span<const TaggedSentence> train,
                                         std::span<const TaggedSentence> validation,
                                         std::span<const TaggedSentence> test);

}  // namespace weft
