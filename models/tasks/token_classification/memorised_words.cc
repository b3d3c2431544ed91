#include "weft/models/tasks/token_classification/memorised_words.h"

#include <algorithm>

#include "weft/models/data/formats/ascii_case.h"

namespace weft {
namespace {

/// The tag for unknown words and for words that are usually outside of spans.
constexpr std::string_view kUnknownTag = "O";

}  // namespace

MemorisedWords::MemorisedWords(std::span<const TaggedSentence> train, bool fold_case)
    : fold_case_(fold_case) {
  std::map<std::string, std::map<std::string, std::int64_t>> counts;
  for (const TaggedSentence& sentence : train) {
    for (std::size_t i = 0; i < sentence.words.size(); ++i)
      ++counts[read(sentence.words[i])][sentence.tags[i]];
  }
  for (const auto& [word, tags] : counts) {
    const auto most = std::max_element(
        tags.begin(), tags.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most->first != kUnknownTag) tags_.emplace(word, most->first);
  }
}

std::vector<std::string> MemorisedWords::operator()(std::span<const std::string> words) const {
  std::vector<std::string> tags;
  for (const std::string& word : words) {
    const auto found = tags_.find(read(word));
    tags.push_back(found == tags_.end() ? std::string(kUnknownTag) : found->second);
  }
  return tags;
}

SpanScores MemorisedWords::score(std::span<const TaggedSentence> sentences) const {
  SpanScores scores;
  for (const TaggedSentence& sentence : sentences)
    scores.add(sentence.tags, (*this)(sentence.words));
  return scores;
}

std::string MemorisedWords::read(std::string_view word) const {
  return fold_case_ ? ascii_lower(word) : std::string(word);
}

TaggingBaseline memorised_words_baseline(std::span<const TaggedSentence> train,
                                         std::span<const TaggedSentence> validation,
                                         std::span<const TaggedSentence> test) {
  const MemorisedWords written(train, false), folded(train, true);
  const double of_written = written.score(validation).all().f1(),
               of_folded = folded.score(validation).all().f1();
  const bool fold_case = of_folded > of_written;
  return {fold_case, std::max(of_written, of_folded), (fold_case ? folded : written).score(test)};
}

}  // namespace weft
