// All that a small model is taught instructions with, and asked afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/zoo/data/instruction_set.h"

namespace weft::zoo {

/// Whoever learns from `book` and `learned` has never seen what `known` and `asked` are about, and
/// knows the phrasings of the former only.
struct TeachingData {
  std::string book;                  // statements
  std::vector<Instruction> learned;  // some 2,000 of each kind
  std::vector<Instruction> known;    // 30 of each kind, in phrasings of `learned`
  std::vector<Instruction> asked;    // 30 of each kind, in new phrasings

  /// The same data each time. `small`: enough to see that a program runs.
  explicit TeachingData(bool small = false);

  /// Writes book.txt, learned.jsonl, known.jsonl, asked.jsonl; the folder is made where it is
  /// missing. Throws IoError.
  void write(const std::string& folder) const;
};

}  // namespace weft::zoo
