// What models are asked, and what they answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// A class and how likely it is.
struct ClassScore {
  std::string name;
  double probability = 0;
};

/// A piece of a word for a place that is hidden.
struct PieceGuess {
  std::int32_t id = 0;
  std::string text;  // what the id stands for in a text
  double probability = 0;
};
/// A hidden place of a text, and what may stand there, the likeliest first.
struct HiddenPlace {
  std::size_t begin = 0, end = 0;  // bytes of the text: those of its mask
  std::vector<PieceGuess> guesses;
};

struct Question {
  std::string question, context;
};
/// A part of the context that answers, or none of it.
struct Answer {
  bool none = false;               // the context does not say
  std::size_t begin = 0, end = 0;  // bytes of the context
  std::string text = {};
  double score = 0;        // the logits of its begin and its end together
  double probability = 0;  // among all that was found
};
struct AnswerOptions {
  std::int64_t most = 1;          // answers, which do not overlap
  std::int64_t most_tokens = 30;  // of an answer
  /// A longer context is read in windows: so many tokens with the question, and so many that
  /// windows side by side have in common.
  std::int64_t window = 384, stride = 128;
  /// The context does not answer where the best part of it scores less above "none" than this; no
  /// value: it always does.
  std::optional<double> no_answer = {};
};

}  // namespace weft
