// The types of instructions with verifiable answers, and their phrasings.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/data/rng.h"

namespace weft::zoo {

/// The arguments of an instruction, which replace {0} and {1} in its form (the second argument may
/// be empty), and its only correct answer.
struct InstructionCase {
  std::string first, second, answer;
};

/// A type of instruction, with its name, its forms, and a generator of arguments and answers.
struct InstructionKind {
  std::string name;  // such as "reverse"
  /// Different ways to describe the result, such as "{0} backwards" or "the reverse of {0}".
  std::vector<std::string> forms;
  InstructionCase (*draw)(Rng& rng);
};

/// Returns the sixteen instruction types. Their arguments are random words of lower-case letters
/// and small numbers.
const std::vector<InstructionKind>& instruction_kinds();

/// Returns the instruction type with this name. If there is none, throws ArgumentError with a list
/// of the types.
const InstructionKind& find_instruction_kind(const std::string& name);

/// Frames for instructions of any type, such as "Tell me {}.". A phrasing is a form inserted into a
/// frame. The last kHeldOutFrames frames are reserved for testing, and the kHeldOutFrames frames
/// before them for validation.
inline constexpr std::array<std::string_view, 44> kInstructionFrames = {
    "What is {}?", "Tell me {}.", "Give {}.", "Write {}.", "Please say {}.", "I want {}.",
    "Show me {}, please.", "Find {}.", "Answer with {}.", "Let me see {}.", "Now {}.",
    "And what is {}?", "Try to find {}.", "Could you write {}?", "You should give me {}.",
    "I ask you for {}.", "My question is: {}", "Quick: {}!", "It would be nice to get {}.",
    "Help me with {}.", "We need {} here.", "Your task is {}.", "Print {}.", "How about {}?",
    "Would you tell us {}?", "Next, {}.", "I wonder about {}.", "Just put down {} for me.",
    "Let us look for {}.", "Compute {}, if you can.", "They asked for {}.", "One more: {}",
    "Report {}.", "Then give back {}.", "Hello! Make {}.", "Who knows {}?",
    // Validation:
    "Do you know {}?", "Please work out {}.", "Send {} to me.", "I must hear {} today.",
    // Tests:
    "Can you name {}?", "I would like to have {}, please.", "Bring us {}.",
    "Think of {} and answer."};
inline constexpr std::size_t kHeldOutFrames = 4;

}  // namespace weft::zoo
