// Commands that read one text per line print one result per line: line i of the output belongs to
// line i of the input, also for blank lines.
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(blank_lines)
namespace {

using nlohmann::json;

const std::string kWeft = std::string(WEFT_FIXTURES) + "/weft_files/";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Runs the command on a file with some blank lines. Returns the lines of the output.
std::vector<std::string> run(const Shell& weft, const std::string& command,
                             const std::string& text) {
  const Outcome outcome = weft(command + " --input " + weft.write("lines.txt", text));
  BOOST_TEST(outcome.code == 0, outcome.err);
  return lines_of(outcome.out);
}

BOOST_AUTO_TEST_CASE(the_translation_of_a_blank_line_is_empty) {
  const Shell weft;
  // The third line contains a no-break space and an ideographic space.
  const std::string text = "the of\n\n \u00a0\u3000\t\nto the\n\n";
  for (const char* beams : {"", " --beams 2", " --prefix 'to '"}) {
    const std::string command = "translate " + kWeft + "translator.weft" + beams;
    const auto plain = run(weft, command, text), found = run(weft, command + " --json", text);
    BOOST_TEST_REQUIRE(plain.size() == 5U);
    BOOST_TEST_REQUIRE(found.size() == 5U);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const json line = json::parse(found[i]);
      const bool blank = i != 0 && i != 3;
      BOOST_TEST(plain[i].empty() == blank);
      BOOST_TEST(line["text"].get<std::string>() == plain[i]);
      BOOST_TEST(line["ids"].empty() == blank);
      if (blank) BOOST_TEST(line["finish"] == "end");
    }
    // Blank lines do not change the other outputs.
    const auto alone = run(weft, command, "the of\nto the\n");
    BOOST_TEST(alone[0] == plain[0]);
    BOOST_TEST(alone[1] == plain[3]);
    BOOST_TEST(run(weft, command, "\n \n") == (std::vector<std::string>{"", ""}),
               boost::test_tools::per_element());
  }
  // Errors and truncation report the line in the file.
  const std::string unknown = weft.write("lines.txt", "the\n\n\xff\n");
  check_error(weft("translate " + kWeft + "translator.weft --input " + unknown), 1, "line 3");
}

BOOST_AUTO_TEST_CASE(blank_lines_have_results_in_every_command) {
  const Shell weft;
  const std::string text = "the [MASK]\n\n  \nof [MASK]\n";
  BOOST_TEST(run(weft, "fill " + kWeft + "encoder-mlm.weft --json", text).size() == 4U);
  const auto filled = run(weft, "fill " + kWeft + "encoder-mlm.weft", text);
  BOOST_TEST_REQUIRE(filled.size() == 6U);  // two of the lines have a mask
  BOOST_TEST(filled[2].empty());
  BOOST_TEST(filled[3] == "  ");
  BOOST_TEST(run(weft, "classify " + kWeft + "classifier.weft", text).size() == 4U);
  const auto scores = run(weft, "score " + kWeft + "gpt.weft --json", "the of\n\n  \nto\n\n");
  BOOST_TEST_REQUIRE(scores.size() == 5U);
  BOOST_TEST(json::parse(scores[1])["bits_per_byte"].is_null());
  BOOST_TEST(json::parse(scores[2])["ids"] == 0);
  BOOST_TEST(json::parse(scores[3])["ids"] == 1);
  BOOST_TEST(json::parse(scores[4])["text"] == "");
  const auto plain = run(weft, "score " + kWeft + "gpt.weft", "the of\n\nto\n");
  BOOST_TEST_REQUIRE(plain.size() == 4U);  // with the line for all texts
  BOOST_TEST(plain[1].empty());
}

BOOST_AUTO_TEST_CASE(blank_prompts_are_skipped) {
  const Shell weft;
  const std::string prompts = weft.write("prompts.txt", "the\n\n \t\nof\n");
  const Outcome outcome =
      weft("generate " + kWeft + "gpt.weft --tokens 2 --json --prompts " + prompts);
  BOOST_TEST(outcome.code == 0, outcome.err);
  BOOST_TEST(lines_of(outcome.out).size() == 2U);
}

BOOST_AUTO_TEST_CASE(tags_and_answers_exist_for_blank_lines) {
  const Shell weft;
  const std::string tiny =
      " --steps 2 --layers 1 --heads 2 --width 16 --inner 32 --context 32 --vocab 60 --batch 4 "
      "--threads 2 --out " +
      weft.path("m.weft");
  const std::string data = std::string(WEFT_FIXTURES);
  BOOST_TEST(weft("train encoder --task tag --train " + data + "/tagged/towns.conll" + tiny).code ==
             0);
  const std::string model = weft.path("m.weft");
  BOOST_TEST(run(weft, "tag " + model + " --json", "she lives\n\n  \nhere\n").size() == 4U);
  const auto tagged = run(weft, "tag " + model, "she lives\n\nhere\n");
  BOOST_TEST(tagged.size() == 2U + 1U + 1U + 1U + 1U);  // a blank line follows every text
  BOOST_TEST(
      weft("train encoder --task answer --data " + data + "/squad/places.json" + tiny + " --force")
          .code == 0);
  const Outcome answered =
      weft("answer " + model + " --json --context " + weft.write("context.txt", "She lives.\n") +
           " --questions " + weft.write("questions.txt", "where\n\n  \nwho\n"));
  BOOST_TEST(answered.code == 0, answered.err);
  const auto answers = lines_of(answered.out);
  BOOST_TEST_REQUIRE(answers.size() == 4U);
  BOOST_TEST(json::parse(answers[1])["answers"].empty());
  BOOST_TEST(json::parse(answers[2])["question"] == "  ");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
