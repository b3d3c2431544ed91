// Kinds of instructions whose answers can be verified, each with many ways to say it.
#pragma once

#include <string>
#include <vector>

#include "weft/models/data/draws.h"

namespace weft::zoo {

/// What an instruction is about: {0} and {1} of its phrasings (the second one may be empty), and
/// the one right answer, {2} of its statements.
struct InstructionCase {
  std::string first, second, answer;
};

struct InstructionKind {
  std::string name;  // "reverse"
  /// How people ask for it: kPhrasings of them, those held out at the end.
  std::vector<std::string> phrasings;
  /// How a book says it, where nobody asks: "abc backwards is cba."
  std::vector<std::string> statements;
  InstructionCase (*draw)(Draws& draws);
};

/// Of each kind the last kHeldOutPhrasings are for tests, those before are for validation.
inline constexpr std::size_t kPhrasings = 12, kHeldOutPhrasings = 2;

/// Sixteen kinds, over random words of small letters and small numbers.
const std::vector<InstructionKind>& instruction_kinds();

/// Throws ArgumentError that lists the kinds.
const InstructionKind& find_instruction_kind(const std::string& name);

}  // namespace weft::zoo
