// Sets of verifiable instructions, made by a program: what a model learns from, and what it is
// asked, in words and about things that it has not seen.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/models/chat/conversation.h"

namespace weft::zoo {

/// Phrasings belong to one of these by their frame (instruction_kinds.h), what instructions are
/// about by a hash of it: eight tenths, one and one.
enum class InstructionPart : std::uint8_t { train, validation, test };

struct Instruction {
  std::string kind, question, answer;
};

struct InstructionSetOptions {
  std::int64_t count = 1000;
  std::uint64_t seed = 1;
  InstructionPart phrasings = InstructionPart::train, arguments = InstructionPart::train;
  std::vector<std::string> kinds = {};  // names; empty: all
};

/// Instructions of each kind as often as of any other, in an order that is drawn: a function of the
/// options. Throws ArgumentError for a kind
/// that there is not.
std::vector<Instruction> make_instructions(const InstructionSetOptions& options);

/// A text of `count` statements, each on a line of its own, by a book that knows no questions: "the
/// reverse of abc: cba". They are about what is in the part "train". A function of count and seed.
std::string make_statements(std::int64_t count, std::uint64_t seed);

std::vector<Conversation> conversations(std::span<const Instruction> instructions);

/// How instructions are written as JSON, each on a line.
enum class InstructionLines : std::uint8_t {
  messages,  // {"kind", "messages": [{"role", "content"}, ...]}
  fields,    // {"kind", "instruction", "input", "output"}
};
std::string instruction_lines(std::span<const Instruction> instructions,
                              InstructionLines lines = InstructionLines::messages);

}  // namespace weft::zoo
