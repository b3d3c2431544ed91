// Tests of the zoo program that fine-tunes a small GPT on instructions, and of the equivalent
// `weft` commands.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "weft/models/data/formats/conversations.h"
#include "weft/models/zoo/data/answer_table.h"
#include "weft/models/zoo/data/instruction_kinds.h"
#include "weft/models/zoo/data/instruction_tuning_data.h"
#include "weft/tests/support/program_shell.h"

namespace weft::zoo {
BOOST_AUTO_TEST_SUITE(zoo_instructions)
namespace {

BOOST_AUTO_TEST_CASE(the_table_contains_exact_matches_by_instruction_type_and_model) {
  const std::vector<Instruction> asked = {
      {"copy", "?", "a"}, {"copy", "?", "b"}, {"reverse", "?", "c"}};
  const std::vector<Instruction> known = {{"copy", "?", "a"}};
  AnswerTable table;
  table.add("before", asked, std::vector<std::string>{"x", "b", "c"}, known,
            std::vector<std::string>{"x"});
  table.add("all weights", asked, std::vector<std::string>{"a", "b", "x"}, known,
            std::vector<std::string>{"a"});
  BOOST_TEST(table.text() ==
             "| exact match, %          |      before | all weights |\n"
             "| ----------------------- | ----------: | ----------: |\n"
             "| all, in new phrasings   |        66.7 |        66.7 |\n"
             "| all, in known phrasings |         0.0 |       100.0 |\n"
             "| copy                    |        50.0 |       100.0 |\n"
             "| reverse                 |       100.0 |         0.0 |\n");
}

BOOST_AUTO_TEST_CASE(the_program_compares_five_models_and_weft_chat_accepts_its_model_file) {
  const Shell zoo(WEFT_ZOO_INSTRUCTIONS), weft;
  const Outcome quick = zoo.in(zoo.path(""), "--quick");
  BOOST_TEST_CONTEXT(quick.err << quick.out) {
    BOOST_REQUIRE(quick.code == 0);
    for (const char* column :
         {"before", "all weights", "LoRA", "QLoRA int8", "QLoRA int4", "loss on all"})
      BOOST_TEST(contains(quick.out, std::string(column) + " |"));
    for (const InstructionKind& kind : instruction_kinds())
      BOOST_TEST(contains(quick.out, "\n| " + kind.name + " "));
  }
  BOOST_TEST(weft("chat " + zoo.path("instructions.weft") + " --greedy --tokens 4 --room 8").code ==
             0);
  BOOST_TEST(zoo("--slow").code == 2);
  BOOST_TEST(contains(zoo("--slow").err, "usage: zoo_instructions [--quick | --write FOLDER]"));
  const Outcome nowhere = zoo("--write " + zoo.path("text.txt") + "/data");
  BOOST_TEST(nowhere.code == 1);
  BOOST_TEST(nowhere.err == "zoo_instructions: cannot create folder \"" + zoo.path("text.txt") +
                                "/data\": Not a directory\n");
}

BOOST_AUTO_TEST_CASE(weft_commands_accept_the_generated_data) {
  const Shell zoo(WEFT_ZOO_INSTRUCTIONS), weft;
  const std::string data = weft.path("data");
  BOOST_REQUIRE(zoo("--write " + data).code == 0);
  const auto done = [&](const std::string& command) {
    const Outcome outcome = weft.in(data, command);
    BOOST_TEST_CONTEXT(command << "\n" << outcome.err) { BOOST_REQUIRE(outcome.code == 0); }
    return outcome.out;
  };
  done(
      "tokenizer train book.txt --vocab 258 --special '<|im_start|>' --special '<|im_end|>' "
      "--out bytes.json");
  done(
      "train gpt --preset llama-cpu --context 256 --text book.txt --tokenizer bytes.json "
      "--steps 2 --batch 1 --eval-every 0 --validation-fraction 0.001 "
      "--out reader.weft");
  const std::vector<std::string> all = {data + "/known.jsonl", data + "/asked.jsonl"};
  BOOST_TEST(read_conversations(all).size() == 2U * 480U);
  // An untrained model generates long answers, so only a few questions are evaluated.
  weft.write("data/few.jsonl", instruction_lines(InstructionTuningData(true).asked));
  const std::string few = " --data learned.jsonl --held-out few.jsonl --steps 2 --eval-every 0";
  BOOST_TEST(contains(done("train gpt --task instructions --preset instruct-cpu --from reader.weft "
                           "--chat-format chatml" +
                           few + " --out all.weft"),
                      "match the expected ones exactly"));
  done("quantize reader.weft --weights int4 --out reader4.weft");
  BOOST_TEST(contains(done("train gpt --task instructions --preset instruct-cpu-lora --from "
                           "reader4.weft --lora-rank 16 --lora-alpha 32 --chat-format chatml" +
                           few + " --out qlora.weft"),
                      "on quantised weights"));
  BOOST_TEST(contains(done("evaluate qlora.weft --data learned.jsonl --held-out few.jsonl"),
                      "exact match "));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::zoo
