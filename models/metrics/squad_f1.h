// Exact match and F1 of answers to questions, as in the official script of SQuAD (Rajpurkar et al.
// 2016, 2018: evaluate-v2.0.py): the same texts have the same scores.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns an answer in normalised form: in lower case, without ASCII punctuation and the words
/// "a", "an" and "the", with single spaces between words. `text` must be valid UTF-8.
std::string normalised_answer(std::string_view text);

/// Scores of one answer.
struct AnswerScore {
  double exact = 0;  // 1 if the normalised answers are equal
  double f1 = 0;     // F1 of their words, counted with multiplicity
};
/// Scores `found` against the best of `answers`. An empty `found` means "no answer", and so does an
/// empty list of `answers`. Answers that are empty after normalisation are ignored.
AnswerScore score_answer(std::string_view found, std::span<const std::string> answers);

/// Mean scores over questions.
class SquadScores {
 public:
  /// Adds the answer to a question.
  void add(std::string_view found, std::span<const std::string> answers);

  std::int64_t questions() const { return questions_; }
  /// The means are between 0 and 1; they are 0 if there are no questions.
  double exact_match() const { return mean(exact_); }
  double f1() const { return mean(f1_); }

 private:
  double mean(double sum) const {
    return questions_ == 0 ? 0 : sum / static_cast<double>(questions_);
  }

  std::int64_t questions_ = 0;
  double exact_ = 0, f1_ = 0;
};

}  // namespace weft
