// The synthetic dataset of verifiable instructions in the zoo.
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "weft/core/error.h"
#include "weft/models/data/formats/conversations.h"
#include "weft/models/zoo/data/instruction_kinds.h"
#include "weft/models/zoo/data/instruction_set.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/messages.h"

namespace weft::zoo {
BOOST_AUTO_TEST_SUITE(verifiable_instructions)
namespace {

using testing::says;
using testing::TemporaryFolder;
using enum InstructionPart;

std::vector<Instruction> of_part(InstructionPart part, std::int64_t count, std::uint64_t seed) {
  return make_instructions({.count = count, .seed = seed, .phrasings = part, .arguments = part});
}

BOOST_AUTO_TEST_CASE(every_instruction_type_has_several_distinct_phrasings) {
  BOOST_TEST(instruction_kinds().size() >= 12U);
  std::set<std::string> names, said;
  for (const InstructionKind& kind : instruction_kinds()) {
    BOOST_TEST(names.insert(kind.name).second, kind.name);
    BOOST_TEST(kind.forms.size() >= 3U, kind.name);
    for (const std::string& form : kind.forms) {
      BOOST_TEST(said.insert(form).second, form);
      BOOST_TEST(form.find("{0}") != std::string::npos, form);
    }
  }
  const std::set<std::string_view> frames(kInstructionFrames.begin(), kInstructionFrames.end());
  BOOST_TEST(frames.size() == kInstructionFrames.size());
  for (const std::string_view frame : frames) BOOST_TEST(frame.find("{}") != frame.npos, frame);
}

BOOST_AUTO_TEST_CASE(answers_are_correct) {
  // Recomputes the answer for each instruction type, by a different method if possible.
  Rng rng(7);
  const auto digits = [](const std::string& text) { return std::stoll(text); };
  for (int i = 0; i < 200; ++i) {
    const auto drawn = [&](const char* kind) { return find_instruction_kind(kind).draw(rng); };
    InstructionCase c = drawn("copy");
    BOOST_TEST(c.answer == c.first);
    c = drawn("reverse");
    for (std::size_t k = 0; k < c.first.size(); ++k)
      BOOST_TEST(c.answer[k] == c.first[c.first.size() - 1 - k]);
    c = drawn("capitals");
    for (std::size_t k = 0; k < c.first.size(); ++k)
      BOOST_TEST(c.answer[k] == c.first[k] - 'a' + 'A');
    c = drawn("repeat");
    BOOST_TEST(std::ssize(c.answer) + 1 == digits(c.second) * (std::ssize(c.first) + 1));
    BOOST_TEST(c.answer.substr(0, c.first.size() + 1) == c.first + " ");
    BOOST_TEST(c.answer.ends_with(" " + c.first));
    c = drawn("first letter");
    BOOST_TEST(c.first.starts_with(c.answer));
    c = drawn("last letter");
    BOOST_TEST(c.first.ends_with(c.answer));
    BOOST_TEST(c.answer.size() == 1U);
    c = drawn("length");
    BOOST_TEST(std::ssize(c.first) == digits(c.answer));
    c = drawn("count");
    std::int64_t found = 0;
    for (const char letter : c.first) found += letter == c.second.front() ? 1 : 0;
    BOOST_TEST(found == digits(c.answer));
    c = drawn("remove");
    BOOST_TEST(c.answer.find(c.second) == std::string::npos);
    BOOST_TEST(c.answer.size() < c.first.size());
    c = drawn("sort");
    for (std::size_t k = 1; k < c.answer.size(); ++k) BOOST_TEST(c.answer[k - 1] <= c.answer[k]);
    BOOST_TEST((std::multiset<char>(c.answer.begin(), c.answer.end()) ==
                std::multiset<char>(c.first.begin(), c.first.end())));
    c = drawn("odd one out");
    BOOST_TEST(c.first.find(c.answer) == c.first.rfind(c.answer));
    // The list consists of two letters and the space.
    BOOST_TEST(std::set<char>(c.first.begin(), c.first.end()).size() == 3U);
    c = drawn("place");
    std::istringstream words(c.first);
    std::string word;
    for (std::int64_t k = 0; k < digits(c.second); ++k) words >> word;
    BOOST_TEST(c.answer == word);
    c = drawn("letter after");
    BOOST_TEST(c.first.find(c.second + c.answer) != std::string::npos);
    BOOST_TEST(c.first.find(c.second) == c.first.rfind(c.second));
    c = drawn("larger");
    BOOST_TEST((c.answer == c.first || c.answer == c.second));
    BOOST_TEST(digits(c.answer) * 2 > digits(c.first) + digits(c.second));
    c = drawn("add");
    BOOST_TEST(digits(c.answer) - digits(c.second) == digits(c.first));
    c = drawn("parity");
    BOOST_TEST(c.answer == (std::string("02468").find(c.first.back()) < 5 ? "even" : "odd"));
  }
}

BOOST_AUTO_TEST_CASE(every_question_has_one_answer) {
  std::map<std::string, std::string> known;
  for (const InstructionPart part : {train, validation, test}) {
    for (const Instruction& one : of_part(part, 4000, 1)) {
      const auto [place, first] = known.emplace(one.question, one.answer);
      BOOST_TEST(place->second == one.answer, one.question);
    }
  }
  BOOST_TEST(known.size() > 8000U);
}

BOOST_AUTO_TEST_CASE(held_out_words_and_phrasings_occur_in_no_other_split) {
  // For this type of instruction, the argument is one word and the answer contains the letters of
  // that word.
  const std::vector<std::string> kinds = {"reverse"};
  std::map<InstructionPart, std::set<std::string>> answers;
  for (const InstructionPart part : {train, validation, test}) {
    for (const Instruction& one :
         make_instructions({.count = 3000, .phrasings = part, .arguments = part, .kinds = kinds}))
      answers[part].insert(one.answer);
  }
  for (const std::string& answer : answers[test]) {
    BOOST_TEST(!answers[train].contains(answer));
    BOOST_TEST(!answers[validation].contains(answer));
  }
  // If only the phrasings are held out, no validation or test question occurs in training.
  std::set<std::string> trained;
  for (const Instruction& one : make_instructions({.count = 20000})) trained.insert(one.question);
  for (const InstructionPart part : {validation, test}) {
    for (const Instruction& one : make_instructions({.count = 2000, .phrasings = part}))
      BOOST_TEST(!trained.contains(one.question), one.question);
  }
  // The pre-training statements do not contain held-out answers.
  std::istringstream lines(make_statements(20000, 1));
  const std::string before = "the reverse of ";
  int said = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(before)) continue;
    ++said;
    BOOST_TEST(!answers[test].contains(line.substr(line.rfind(' ') + 1)), line);
  }
  BOOST_TEST(said > 100);
}

BOOST_AUTO_TEST_CASE(the_dataset_is_a_function_of_its_options) {
  const auto lines = [](std::uint64_t seed) { return instruction_lines(of_part(test, 32, seed)); };
  BOOST_TEST(lines(3) == lines(3));
  BOOST_TEST(lines(3) != lines(4));
  BOOST_TEST(make_statements(50, 2) == make_statements(50, 2));
  std::map<std::string, int> kinds;
  for (const Instruction& one : of_part(train, 160, 5)) ++kinds[one.kind];
  BOOST_TEST(kinds.size() == instruction_kinds().size());
  for (const auto& [kind, count] : kinds) BOOST_TEST(count == 10, kind);
  BOOST_CHECK_EXCEPTION(make_instructions({.kinds = {"guess"}}), ArgumentError,
                        says("unknown instruction type 'guess'; the types are: copy, reverse,"));
}

BOOST_AUTO_TEST_CASE(both_file_formats_contain_the_same_conversations) {
  const TemporaryFolder folder("instruction_set");
  const std::vector<Instruction> made = of_part(validation, 40, 9);
  const std::vector<std::string> as_messages = {folder.write("m.jsonl", instruction_lines(made))},
                                 as_fields = {folder.write(
                                     "f.jsonl", instruction_lines(made, InstructionLines::fields))};
  BOOST_TEST((read_conversations(as_messages) == conversations(made)));
  BOOST_TEST((read_conversations(as_fields) == conversations(made)));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::zoo
