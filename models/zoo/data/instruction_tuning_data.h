// The data for training a small model to follow instructions and for evaluating it.
#pragma once

#include <string>
#include <vector>

#include "weft/models/zoo/data/instruction_set.h"

namespace weft::zoo {

/// Data for instruction tuning. The arguments in `known` and `asked` do not occur in the training
/// data `book` and `learned`. The phrasings of `known` occur in the training data, but the
/// phrasings of `asked` do not.
struct InstructionTuningData {
  std::string book;                  // pre-training text that consists of statements
  std::vector<Instruction> learned;  // 2,000 per instruction type, for training
  std::vector<Instruction> known;  // 30 per instruction type, in phrasings that occur in `learned`
  std::vector<Instruction> asked;  // 30 per instruction type, in new phrasings

  /// Generates the data deterministically. If `small` is true, generates only a few examples for a
  /// smoke test.
  explicit InstructionTuningData(bool small = false);

  /// Writes book.txt, learned.jsonl, known.jsonl and asked.jsonl to `folder`, which is created if
  /// it does not exist. Throws IoError.
  void write(const std::string& folder) const;
};

}  // namespace weft::zoo
