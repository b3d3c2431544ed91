// The data with which a small model is trained to follow instructions and evaluated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/zoo/data/instruction_set.h"

namespace weft::zoo {

/// The arguments in `known` and `asked` do not occur in the training data `book` and `learned`. The
/// phrasings of `known` do occur there, those of `asked` do not.
struct InstructionTuningData {
  std::string book;                  // pre-training text of statements
  std::vector<Instruction> learned;  // 2,000 of each kind, for training
  std::vector<Instruction> known;    // 30 of each kind, in phrasings that occur in `learned`
  std::vector<Instruction> asked;    // 30 of each kind, in new phrasings

  /// Generates the data, which is the same every time. `small`: a few examples for a smoke test.
  explicit InstructionTuningData(bool small = false);

  /// Writes book.txt, learned.jsonl, known.jsonl and asked.jsonl to `folder`, which is created if
  /// it does not exist. Throws IoError.
  void write(const std::string& folder) const;
};

}  // namespace weft::zoo
