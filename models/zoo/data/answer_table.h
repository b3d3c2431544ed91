// A table of exact-match scores for answers to instructions, by instruction type and model.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "weft/models/zoo/data/instruction_set.h"

namespace weft::zoo {

/// Collects the scores of several models and prints them.
class AnswerTable {
 public:
  /// Adds a column with the scores of a model over all of `asked` (new phrasings), over all of
  /// `known` (known phrasings), and over each instruction type in `asked`. `answers[i]` and
  /// `known_answers[i]` are the answers to `asked[i]` and `known[i]`.
  void add(const std::string& model, std::span<const Instruction> asked,
           std::span<const std::string> answers, std::span<const Instruction> known,
           std::span<const std::string> known_answers);

  /// Returns the scores (in per cent) as an aligned Markdown table.
  std::string text() const;

 private:
  /// The number of correct answers and the number of questions.
  struct Share {
    double right = 0, asked = 0;
  };
  using Column = std::map<std::string, Share>;

  std::vector<std::string> models_, rows_;
  std::vector<Column> columns_;
};

}  // namespace weft::zoo
