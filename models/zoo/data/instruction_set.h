// Generates instructions with verifiable answers for training and evaluation. The evaluation sets
// can use phrasings and arguments that do not occur in the training set.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/models/text/chat/conversation.h"

namespace weft::zoo {

/// The split that a phrasing or the arguments of an instruction belong to. Phrasings are split by
/// their frame (instruction_kinds.h). Arguments are split by a hash into eight tenths for training,
/// one tenth for validation and one tenth for testing.
enum class InstructionPart : std::uint8_t { train, validation, test };

/// An instruction with its type and its correct answer.
struct Instruction {
  std::string kind, question, answer;
};

struct InstructionSetOptions {
  std::int64_t count = 1000;
  std::uint64_t seed = 1;
  /// The splits from which phrasings and arguments are sampled.
  InstructionPart phrasings = InstructionPart::train, arguments = InstructionPart::train;
  std::vector<std::string> kinds = {};  // names of instruction types; all types if empty
};

/// Generates instructions in random order. The numbers of instructions per type differ by at most
/// one. The result is a deterministic function of the options. Throws ArgumentError if an
/// instruction type is unknown.
std::vector<Instruction> make_instructions(const InstructionSetOptions& options);

/// Generates a pre-training text with `count` lines. Each line is a statement without a question,
/// such as "the reverse of abc: cba". The arguments are from the training split. The result is a
/// deterministic function of count and seed.
std::string make_statements(std::int64_t count, std::uint64_t seed);

/// Converts every instruction to a conversation that consists of a user message and the assistant's
/// answer.
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
