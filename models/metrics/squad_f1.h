// How good answers to questions are, as SQuAD's official script counts (Rajpurkar et al. 2016,
// 2018: evaluate-v2.0.py): the same numbers for the same texts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// An answer as it is compared: in lower case, without ASCII's punctuation, without the words "a",
/// "an" and "the", single blanks between words. `text` is valid UTF-8.
std::string normalised_answer(std::string_view text);

/// How close `found` is to the best of `answers`; "" is "there is no answer", and so are no answers
/// (those of which nothing is left are passed over).
struct AnswerScore {
  double exact = 0;  // 1 where both are the same as they are compared
  double f1 = 0;     // of their words, each as often as it occurs
};
AnswerScore score_answer(std::string_view found, std::span<const std::string> answers);

/// The means over questions.
class SquadScores {
 public:
  /// Counts an answer.
  void add(std::string_view found, std::span<const std::string> answers);

  std::int64_t questions() const { return questions_; }
  /// From 0 to 1; 0 of no questions.
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
