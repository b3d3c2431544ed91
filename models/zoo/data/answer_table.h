// How many answers to instructions are exactly right, of each kind and of several models.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "weft/models/zoo/data/instruction_set.h"

namespace weft::zoo {

class AnswerTable {
 public:
  /// A column: what a model answered to `asked`, kind by kind and as a whole, and to `known` as a
  /// whole.
  void add(const std::string& model, std::span<const Instruction> asked,
           std::span<const std::string> answers, std::span<const Instruction> known,
           std::span<const std::string> known_answers);

  /// Per cent, a kind on each line: for people, and for Markdown.
  std::string text() const;

 private:
  struct Share {
    double right = 0, asked = 0;
  };
  using Column = std::map<std::string, Share>;

  std::vector<std::string> models_, rows_;
  std::vector<Column> columns_;
};

}  // namespace weft::zoo
