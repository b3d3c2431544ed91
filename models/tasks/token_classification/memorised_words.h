// Baseline for taggers: memorised word tags.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/data/formats/tagged_text.h"
#include "weft/models/metrics/span_f1.h"

namespace WEFT_API weft {

/// A tagger that assigns to every word its most frequent tag in the training sentences, regardless
/// of context. Ties are resolved by using the alphabetically first tag. Words that do not occur in
/// the training sentences get the tag "O".
class MemorisedWords {
 public:
  /// If `fold_case` is set, A to Z are converted to lower case.
  MemorisedWords(std::span<const TaggedSentence> train, bool fold_case);

  /// Returns a tag for every word.
  std::vector<std::string> operator()(std::span<const std::string> words) const;
  /// Evaluates the tagger on tagged sentences.
  SpanScores score(std::span<const TaggedSentence> sentences) const;

 private:
  std::string read(std::string_view word) const;

  bool fold_case_;
  std::map<std::string, std::string, std::less<>> tags_;  // without entries for "O"
};

/// The better one of the case-sensitive and case-insensitive baselines.
struct TaggingBaseline {
  bool fold_case = false;
  double validation_f1 = 0;  // F1 of the chosen baseline
  SpanScores test;
};
/// Memorises `train` with and without case folding, chooses the version with the better F1 on
/// `validation` (if they are equal, the case-sensitive version), and evaluates it on `test`.
TaggingBaseline memorised_words_baseline(std::span<const TaggedSentence> train,
                                         std::span<const TaggedSentence> validation,
                                         std::span<const TaggedSentence> test);

}  // namespace weft
