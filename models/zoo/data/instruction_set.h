// Generated sets of instructions with verifiable answers, for training and for evaluation with
// phrasings and arguments that do not occur in the training set.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/models/chat/conversation.h"

namespace weft::zoo {

/// The split that a phrasing or the arguments of an instruction belong to. Phrasings are split by
/// their frame (instruction_kinds.h), arguments by a hash: eight tenths training, one tenth
/// validation, one tenth test.
enum class InstructionPart : std::uint8_t { train, validation, test };

/// An instruction of some kind with its correct answer.
struct Instruction {
  std::string kind, question, answer;
};

struct InstructionSetOptions {
  std::int64_t count = 1000;
  std::uint64_t seed = 1;
  /// The splits from which phrasings and arguments are drawn.
  InstructionPart phrasings = InstructionPart::train, arguments = InstructionPart::train;
  std::vector<std::string> kinds = {};  // names of kinds; all kinds if empty
};

/// Generates instructions, the same number of each kind (up to one), in random order. The result is
/// a deterministic function of the options. Throws ArgumentError for an unknown kind.
std::vector<Instruction> make_instructions(const InstructionSetOptions& options);

/// Generates a pre-training text of `count` lines, each of which is a statement without a question:
/// "the reverse of abc: cba". The arguments are from the training split. The result is a
/// deterministic function of count and seed.
std::string make_statements(std::int64_t count, std::uint64_t seed);

/// Converts every instruction to a conversation of a user message and the assistant's answer.
std::vector<Conversation> conversations(std::span<const Instruction> instructions);

/// The format of an instruction in a JSON Lines file.
enum class InstructionLines : std::uint8_t {
  messages,  // {"kind", "messages": [{"role", "content"}, ...]}
  fields,    // {"kind", "instruction", "input", "output"}
};
/// Returns the instructions as JSON Lines.
std::string instruction_lines(std::span<const Instruction> instructions,
                              InstructionLines lines = InstructionLines::messages);

}  // namespace weft::zoo
