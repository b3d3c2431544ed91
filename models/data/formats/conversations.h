// Reads training conversations from JSON Lines files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/models/text/chat/conversation.h"

namespace WEFT_API weft {

/// How the "input" of an instruction is converted.
enum class InstructionInput : std::uint8_t {
  // The input is appended to the user's message after an empty line.
  joined,
  // The input is a separate message with the role "input", which the Alpaca format supports.
  message,
};

/// Reads plain or compressed files (see ByteStream) with one JSON object per line. An object has
/// the form {"messages": [{"role": ..., "content": ...}, ...]} or {"instruction": ..., "input":
/// ..., "output": ...} (Taori et al. 2023). In the second form, "input" may be missing or empty,
/// and "system" is an optional system message. Other fields are ignored. Every conversation must
/// have an answer, which is a message with the role "assistant". Reading is strict. Throws
/// FormatError with file and line if a line has any other form, including an empty line.
std::vector<Conversation> read_conversations(std::span<const std::string> paths,
                                             InstructionInput input = InstructionInput::joined);

struct ConversationSplit {
  std::vector<Conversation> train, held_out;
};
/// Holds out about `fraction` of the distinct beginnings (all messages before the first answer),
/// with all conversations that start with them. The selection is a function of the conversations,
/// fraction and seed. The order is kept in both parts. Unless the fraction is 0, each part contains
/// at least one beginning. Throws ArgumentError unless 0 <= fraction < 1. Throws DataError if there
/// are too few beginnings.
ConversationSplit hold_out(const std::vector<Conversation>& all, double fraction,
                           std::uint64_t seed);

}  // namespace weft
