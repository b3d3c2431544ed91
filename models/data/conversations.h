// Conversations to learn from: files of JSON objects, one on each line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/models/chat/conversation.h"

namespace WEFT_API weft {

/// What the "input" beside an instruction becomes.
enum class InstructionInput : std::uint8_t {
  joined,   // the rest of the user's message, behind an empty line
  message,  // a message of the role "input", which Alpaca's format knows
};

/// Reads files, plain or packed (ByteStream), whose lines are {"messages": [{"role": ...,
/// "content": ...}, ...]}, or {"instruction": ..., "input": ..., "output": ...} (Taori et al. 2023)
/// with "input" missing or empty where there is none and a "system" message at will; other fields
/// are not looked at. Every conversation has an answer: a message of the role "assistant". Reading
/// is strict: FormatError with the file and the line for anything else (an empty line, too).
std::vector<Conversation> read_conversations(std::span<const std::string> paths,
                                             InstructionInput input = InstructionInput::joined);

struct ConversationSplit {
  std::vector<Conversation> train, held_out;
};
/// About `fraction` of the different beginnings (all up to the first answer) are held out, with all
/// conversations that begin so: a function of the conversations, fraction and seed. Both parts keep
/// the order. Unless the fraction is 0, one at least is held out, and one at least trains. Throws
/// ArgumentError unless 0 <= fraction < 1, DataError where there are too few.
ConversationSplit hold_out(const std::vector<Conversation>& all, double fraction,
                           std::uint64_t seed);

}  // namespace weft
