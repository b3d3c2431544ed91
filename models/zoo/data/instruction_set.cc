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

InstructionCase draw_case(Draws& draws, const InstructionKind& kind, InstructionPart part) {
  InstructionCase about = kind.draw(draws);
  while (part_of(about) != part) about = kind.draw(draws);
  return about;
}

std::span<const std::string> phrasings_of(const InstructionKind& kind, InstructionPart part) {
  const std::span<const std::string> all = kind.phrasings;
  switch (part) {
    case InstructionPart::train: return all.first(all.size() - 2 * kHeldOutPhrasings);
    case InstructionPart::validation:
      return all.last(2 * kHeldOutPhrasings).first(kHeldOutPhrasings);
    case InstructionPart::test: break;
  }
  return all.last(kHeldOutPhrasings);
}

std::string filled(Draws& draws, std::span<const std::string> forms, const InstructionCase& about) {
  const std::string& form =
      forms[static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(forms.size())))];
  return fmt::format(fmt::runtime(form), about.first, about.second, about.answer);
}

}  // namespace

std::vector<Instruction> make_instructions(const InstructionSetOptions& options) {
  std::vector<const InstructionKind*> kinds;
  for (const std::string& name : options.kinds) kinds.push_back(&find_instruction_kind(name));
  if (kinds.empty()) {
    for (const InstructionKind& kind : instruction_kinds()) kinds.push_back(&kind);
  }
  Draws draws(options.seed);
  std::vector<Instruction> made;
  for (std::int64_t i = 0; i < options.count; ++i) {
    const std::size_t turn = static_cast<std::size_t>(i) % kinds.size();
    if (turn == 0) draws.shuffle(kinds);
    const InstructionKind& kind = *kinds[turn];
    const InstructionCase about = draw_case(draws, kind, options.arguments);
    made.push_back(
        {kind.name, filled(draws, phrasings_of(kind, options.phrasings), about), about.answer});
  }
  return made;
}

std::string make_statements(std::int64_t count, std::uint64_t seed) {
  const std::vector<InstructionKind>& kinds = instruction_kinds();
  Draws draws(seed, 1);  // not those of the instructions
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) {
    const InstructionKind& kind =
        kinds[static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(kinds.size())))];
    const InstructionCase about = draw_case(draws, kind, InstructionPart::train);
    text += filled(draws, kind.statements, about) + "\n";
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
