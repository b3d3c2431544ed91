// Kinds of instructions whose answers can be verified, and the ways to say them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/data/rng.h"

namespace weft::zoo {

/// What an instruction is about: {0} and {1} of its forms (the second one may be empty), and the
/// one right answer.
struct InstructionCase {
  std::string first, second, answer;
};

struct InstructionKind {
  std::string name;  // "reverse"
  /// What is asked for, as people call it: "{0} backwards", "the reverse of {0}".
  std::vector<std::string> forms;
  InstructionCase (*draw)(Rng& rng);
};

/// Sixteen kinds, over random words of small letters and small numbers.
const std::vector<InstructionKind>& instruction_kinds();

/// Throws ArgumentError that lists the kinds.
const InstructionKind& find_instruction_kind(const std::string& name);

/// How people ask for something, of any kind: "Tell me {}.". A phrasing is one of these around a
/// form. The last kHeldOutFrames are for tests, as many before them for validation.
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
