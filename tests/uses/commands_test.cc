// The commands `weft classify`, `tag`, `fill`, `embed`, `answer` and `convert`, with model folders
// and with model files.
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "tiny_folder.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/safetensors.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(commands)
namespace {

json with_labels(const std::string& type, const std::string& head,
                 const std::vector<std::string>& labels) {
  json config = tiny_config(type, class_prefix(type) + head);
  for (std::size_t i = 0; i < labels.size(); ++i) config["id2label"][std::to_string(i)] = labels[i];
  return config;
}

void succeeds(const Outcome& outcome) {
  BOOST_TEST_CONTEXT(outcome.out << outcome.err) { BOOST_TEST(outcome.code == 0); }
}

std::vector<json> lines(const Outcome& outcome) {
  succeeds(outcome);
  std::vector<json> result;
  std::istringstream stream(outcome.out);
  for (std::string line; std::getline(stream, line);) result.push_back(json::parse(line));
  return result;
}

BOOST_AUTO_TEST_CASE(classify_accepts_folders_files_and_all_text_sources) {
  const Shell weft;
  const TinyFolder folder(with_labels("bert", "ForSequenceClassification", {"bad", "good"}));
  const std::string file = weft.path("film.weft");
  const Outcome made = weft("convert " + folder.path() + " --out " + file);
  succeeds(made);
  BOOST_TEST(contains(made.out, "film.weft: a text classifier of "));
  const Outcome one = weft("classify " + folder.path() + " 'the film was good' bad");
  succeeds(one);
  BOOST_TEST(one.err == "");
  BOOST_TEST(one.out.starts_with("the film was good  "));
  BOOST_TEST(weft("classify " + file + " 'the film was good' bad").out == one.out);
  const std::string texts = weft.write("texts.txt", "the film was good\r\nbad\n");
  const Outcome many = weft("classify " + file + " --input " + texts);
  BOOST_TEST(many.out == one.out);
  BOOST_TEST(contains(many.err, "2 inputs in "));
  const Outcome line = weft("classify " + file + " --input " + weft.write("line.txt", "bad\n"));
  BOOST_TEST(line.err.starts_with("1 input in "));
  const auto found = lines(weft("classify " + file + " bad --top 1 --json"));
  BOOST_TEST_REQUIRE(found.size() == 1U);
  BOOST_TEST(found[0]["input"] == "bad");
  BOOST_TEST(found[0]["classes"].size() == 1U);
  BOOST_TEST(found[0]["classes"][0]["probability"].get<double>() >= 0.5);
  check_error(weft("classify " + file), 2, "no input: give ");
  check_error(weft("classify " + file + " bad --input " + texts), 2, "not both");
  BOOST_TEST(weft("convert " + file + " --out " + weft.path("other.weft")).code == 0);
  BOOST_TEST((read_whole_file(weft.path("other.weft")) == read_whole_file(file)));
}

BOOST_AUTO_TEST_CASE(tag_prints_words_spans_or_json) {
  const Shell weft;
  const TinyFolder folder(
      with_labels("bert", "ForTokenClassification", {"B-PER", "I-PER", "B-LOC"}));
  const std::string text = "'mary brown lives'";
  const Outcome words = weft("tag " + folder.path() + " " + text);
  succeeds(words);
  BOOST_TEST(words.out.starts_with("mary\t"));
  BOOST_TEST(std::count(words.out.begin(), words.out.end(), '\n') == 4);
  const auto found = lines(weft("tag " + folder.path() + " " + text + " --json"));
  BOOST_TEST(found[0]["words"].size() == 3U);
  BOOST_TEST(found[0]["words"][1]["begin"] == 5);
  BOOST_TEST(found[0]["spans"].size() >= 1U);
  const json& span = found[0]["spans"][0];
  const Outcome spans = weft("tag " + folder.path() + " " + text + " --spans");
  BOOST_TEST(spans.out.starts_with(span["begin"].dump() + "\t" + span["end"].dump() + "\t" +
                                   span["type"].get<std::string>() + "\t" +
                                   span["text"].get<std::string>() + "\t"));
}

BOOST_AUTO_TEST_CASE(fill_prints_one_line_per_mask) {
  const Shell weft;
  const TinyFolder folder("roberta", "ForMaskedLM");
  const Outcome plain = weft("fill " + folder.path() + " 'the [MASK] was [MASK]' --top 2");
  succeeds(plain);
  BOOST_TEST(plain.out.starts_with("the [MASK] was [MASK]\n   "));
  BOOST_TEST(std::count(plain.out.begin(), plain.out.end(), '\n') == 3);
  const auto found = lines(weft("fill " + folder.path() + " 'the [MASK] was [MASK]' --json"));
  BOOST_TEST(found[0]["hidden"].size() == 2U);
  BOOST_TEST(found[0]["hidden"][0]["begin"] == 4);
  BOOST_TEST(found[0]["hidden"][0]["guesses"].size() == 5U);
  check_error(weft("fill " + folder.path() + " 'the film'"), 1, "'the film' has no mask");
}

BOOST_AUTO_TEST_CASE(embed_writes_vectors_and_ranks_lines_by_similarity) {
  const Shell weft;
  const TinyFolder folder("distilbert", "Model");
  const std::string texts = weft.write("texts.txt", "the film was good\nmary saw the river\n");
  const std::string npy = weft.path("v.npy"), tensors = weft.path("v.safetensors");
  const Outcome outcome = weft("embed " + folder.path() + " --input " + texts + " --out " + npy);
  succeeds(outcome);
  BOOST_TEST(contains(outcome.err, "2 texts, 12 tokens in "));
  succeeds(weft("embed " + folder.path() + " --input " + texts + " --out " + tensors));
  const Tensor vectors = read_safetensors(tensors).tensors.at("vectors");
  BOOST_TEST((vectors.sizes() == Sizes{2, 16}));
  const std::string bytes = read_whole_file(npy);
  BOOST_TEST(bytes.starts_with(std::string("\x93NUMPY\x01\0", 8)));
  BOOST_TEST(contains(bytes, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,16,), }"));
  BOOST_TEST_REQUIRE(bytes.size() == 128 + vectors.bytes());
  BOOST_TEST(std::memcmp(bytes.data() + 128, vectors.raw(), vectors.bytes()) == 0);

  const std::string others = weft.write("lines.txt", "bob\nmary saw the river\nthe town\n");
  const Outcome ranked =
      weft("embed " + folder.path() + " 'mary saw the river' --similar " + others + " --top 2");
  succeeds(ranked);
  BOOST_TEST(ranked.out.starts_with("mary saw the river\n  1.0000  mary saw the river\n  "));
  const auto found = lines(
      weft("embed " + folder.path() + " 'mary saw the river' --similar " + others + " --json"));
  BOOST_TEST(found[0]["similar"].size() == 3U);
  BOOST_TEST(found[0]["similar"][0]["line"] == 2);
  const auto raw = lines(weft("embed " + folder.path() + " bob --json --no-normalise --pool cls"));
  BOOST_TEST(raw[0]["vector"].size() == 16U);
  check_error(weft("embed " + folder.path() + " bob"), 2,
              "no output was requested: give --out FILE");
  check_error(weft("embed " + folder.path() + " bob --out v.txt"), 2,
              "--out v.txt: the extension must be .npy or .safetensors");
}

BOOST_AUTO_TEST_CASE(answer_prints_spans_of_a_context_file) {
  const Shell weft;
  const TinyFolder folder("electra", "ForQuestionAnswering");
  const std::string text = "mary brown lives in new york .";
  const std::string context = weft.write("context.txt", text);
  const std::string asked =
      "answer " + folder.path() + " --question 'who lives ?' --context " + context;
  const auto found = lines(weft(asked + " --top 2 --json"));
  BOOST_TEST(found[0]["question"] == "who lives ?");
  const json& best = found[0]["answers"][0];
  BOOST_TEST(best["text"] == text.substr(best["begin"], best["end"].get<std::size_t>() -
                                                            best["begin"].get<std::size_t>()));
  const Outcome plain = weft(asked + " --question 'where ?'");
  succeeds(plain);
  BOOST_TEST(plain.out.starts_with("who lives ?\n  " + best["text"].get<std::string>() + "  "));
  BOOST_TEST(contains(plain.out, "where ?\n"));
  BOOST_TEST(contains(weft(asked + " --no-answer 900").out, "(no answer)"));
  BOOST_TEST(lines(weft(asked + " --no-answer 900 --json"))[0]["answers"].empty());
  const std::string questions = weft.write("questions.txt", "who lives ?\nwhere ?\n");
  const Outcome many =
      weft("answer " + folder.path() + " --questions " + questions + " --context " + context);
  BOOST_TEST(many.out == plain.out);
  BOOST_TEST(contains(many.err, "2 questions in "));
  check_error(weft(asked + " --questions " + questions), 2, "give either --question, ");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
