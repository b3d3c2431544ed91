#include "weft/models/zoo/data/answer_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/models/zoo/data/instruction_kinds.h"

namespace weft::zoo {

void AnswerTable::add(const std::string& model, std::span<const Instruction> asked,
                      std::span<const std::string> answers, std::span<const Instruction> known,
                      std::span<const std::string> known_answers) {
  Column column;
  const auto count = [&](const std::string& row, bool right) {
    if (std::find(rows_.begin(), rows_.end(), row) == rows_.end()) rows_.push_back(row);
    Share& share = column[row];
    share.right += right ? 1 : 0;
    share.asked += 1;
  };
  for (std::size_t i = 0; i < asked.size(); ++i)
    count("all, in new phrasings", answers[i] == asked[i].answer);
  for (std::size_t i = 0; i < known.size(); ++i)
    count("all, in known phrasings", known_answers[i] == known[i].answer);
  for (const InstructionKind& kind : instruction_kinds()) {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (asked[i].kind == kind.name) count(kind.name, answers[i] == asked[i].answer);
    }
  }
  models_.push_back(model);
  columns_.push_back(std::move(column));
}

std::string AnswerTable::text() const {
  std::string text = fmt::format("| {:23} |", "exact match, %");
  for (const std::string& model : models_) text += fmt::format(" {:>11} |", model);
  text += "\n| ----------------------- |";
  for (std::size_t i = 0; i < models_.size(); ++i) text += " ----------: |";
  for (const std::string& row : rows_) {
    text += fmt::format("\n| {:23} |", row);
    for (const Column& column : columns_) {
      const Share& share = column.at(row);
      text += fmt::format(" {:11.1f} |", 100 * share.right / share.asked);
    }
  }
  return text + "\n";
}

}  // namespace weft::zoo
