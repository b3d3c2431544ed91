#include "weft/models/zoo/data/instruction_set.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "weft/core/random.h"
#include "weft/models/zoo/data/instruction_kinds.h"

namespace weft::zoo {
namespace {

InstructionPart part_of(const InstructionCase& about) {
  const std::uint64_t tenth = stable_hash(about.first + "\n" + about.second) % 10;
  if (tenth == 0) return InstructionPart::test;
  return tenth == 1 ? InstructionPart::validation : InstructionPart::train;
}

/// Samples arguments for this instruction type until they belong to `part`.
InstructionCase draw_case(Rng& rng, const InstructionKind& kind, InstructionPart part) {
  InstructionCase about = kind.draw(rng);
  while (part_of(about) != part) about = kind.draw(rng);
  return about;
}

std::span<const std::string_view> frames_of(InstructionPart part) {
  const std::span<const std::string_view> all = kInstructionFrames;
  switch (part) {
    case InstructionPart::train: return all.first(all.size() - 2 * kHeldOutFrames);
    case InstructionPart::validation: return all.last(2 * kHeldOutFrames).first(kHeldOutFrames);
    case InstructionPart::test: break;
  }
  return all.last(kHeldOutFrames);
}

template <class T>
const T& drawn(Rng& rng, std::span<const T> of) {
  return of[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(of.size())))];
}

std::string draw_form(Rng& rng, const InstructionKind& kind, const InstructionCase& about) {
  const std::string& form = drawn(rng, std::span<const std::string>(kind.forms));
  return fmt::format(fmt::runtime(form), about.first, about.second);
}

}  // namespace

std::vector<Instruction> make_instructions(const InstructionSetOptions& options) {
  std::vector<const InstructionKind*> kinds;
  for (const std::string& name : options.kinds) kinds.push_back(&find_instruction_kind(name));
  if (kinds.empty()) {
    for (const InstructionKind& kind : instruction_kinds()) kinds.push_back(&kind);
  }
  Rng rng(options.seed);
  std::vector<Instruction> made;
  for (std::int64_t i = 0; i < options.count; ++i) {
    const std::size_t turn = static_cast<std::size_t>(i) % kinds.size();
    if (turn == 0) rng.shuffle(kinds);
    const InstructionKind& kind = *kinds[turn];
    const InstructionCase about = draw_case(rng, kind, options.arguments);
    const std::string form = draw_form(rng, kind, about);
    made.push_back({kind.name,
                    fmt::format(fmt::runtime(drawn(rng, frames_of(options.phrasings))), form),
                    about.answer});
  }
  return made;
}

std::string make_statements(std::int64_t count, std::uint64_t seed) {
  const std::vector<InstructionKind>& kinds = instruction_kinds();
  Rng rng(seed, 1);  // not the same stream as for the instructions
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) {
    const InstructionKind& kind =
        kinds[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(kinds.size())))];
    const InstructionCase about = draw_case(rng, kind, InstructionPart::train);
    text += fmt::format("{}: {}\n", draw_form(rng, kind, about), about.answer);
  }
  return text;
}

std::vector<Conversation> conversations(std::span<const Instruction> instructions) {
  std::vector<Conversation> made;
  for (const Instruction& instruction : instructions)
    made.push_back({{"user", instruction.question}, {"assistant", instruction.answer}});
  return made;
}

std::string instruction_lines(std::span<const Instruction> instructions, InstructionLines lines) {
  std::string text;
  for (const Instruction& instruction : instructions) {
    nlohmann::ordered_json line = {{"kind", instruction.kind}};
    if (lines == InstructionLines::fields) {
      line["instruction"] = instruction.question;
      line["input"] = "";
      line["output"] = instruction.answer;
    } else {
      line["messages"] = {{{"role", "user"}, {"content", instruction.question}},
                          {{"role", "assistant"}, {"content", instruction.answer}}};
    }
    text += line.dump() + "\n";
  }
  return text;
}

}  // namespace weft::zoo
