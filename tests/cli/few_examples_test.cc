// Training on very few examples either works or ends with an error that states what is missing. It
// never reports that training has diverged.
#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(few_examples)
namespace {

const std::string kEncoder =
    " --layers 1 --heads 2 --width 16 --inner 32 --context 16 --batch 2 --steps 2 --eval-every 1 "
    "--vocab 60 --threads 2";

BOOST_AUTO_TEST_CASE(a_classifier_with_two_texts_per_class_is_evaluated) {
  const Shell weft;
  std::string lines;
  for (int i = 0; i < 30; ++i) {
    for (const char* text : {"rain on the road", "birds in the sky"})
      lines += "intent" + std::to_string(i) + "\t" + text + " " + std::to_string(i) + "\n";
  }
  const std::string data = weft.write("two.tsv", lines), best = weft.path("best.weft");
  const Outcome outcome = weft("train encoder --task classify --data " + data + kEncoder +
                               " --best " + best + " --out " + weft.path("m.weft"));
  BOOST_TEST(outcome.code == 0, outcome.err);
  BOOST_TEST(contains(outcome.out, "48 texts for training, 12 held out (test set)"), outcome.out);
  BOOST_TEST(std::filesystem::exists(best));
  const Outcome again = weft("evaluate " + weft.path("m.weft") + " --data " + data);
  BOOST_TEST(contains(again.out, "on 12 texts"), again.err);
  // The same texts are held out when the run is resumed.
  BOOST_TEST(
      weft("train encoder --data " + data + " --resume " + weft.path("m.weft") + " --steps 3")
          .code == 0);
}

BOOST_AUTO_TEST_CASE(a_classifier_with_one_text_per_class_is_trained_without_evaluation) {
  const Shell weft;
  const std::string train = "train encoder --task classify --label first --data " +
                            weft.write("one.tsv", "a\train\nb\tsnow\nc\tsun\n") + kEncoder +
                            " --out " + weft.path("m.weft");
  const std::string without = train.substr(0, train.find(" --eval-every 1")) +
                              train.substr(train.find(" --eval-every 1") + 15);
  const Outcome outcome = weft(without);
  BOOST_TEST(outcome.code == 0, outcome.err);
  BOOST_TEST(contains(outcome.out, "3 texts for training, none held out"), outcome.out);
  BOOST_TEST(contains(outcome.out, "the accuracy is unknown"));
  check_error(weft(train), 2, "--eval-every has no effect: no data is held out");
  check_error(weft(without + " --best " + weft.path("b.weft")), 2, "--best needs held-out data");
  check_error(weft(without + " --patience 2 --eval-every 1"), 2, "patience requires held-out data");
  check_error(
      weft("evaluate " + weft.path("m.weft") + " --label first --data " + weft.path("one.tsv")), 1,
      "there is nothing to evaluate on");
  check_error(weft(without + " --test " + weft.write("empty.tsv", "\n")), 1,
              "there are no texts in the --test files");
}

BOOST_AUTO_TEST_CASE(every_task_explains_why_it_cannot_train_on_few_examples) {
  const Shell weft;
  weft.write("empty.txt", "");
  weft.write("blank.txt", "\n \n");
  weft.write("one.txt", "one");
  weft.write("similar.tsv", "3.5\ta cat\ta dog\n");
  weft.write("same.tsv", "3.5\ta cat\ta dog\n3.5\ta bird\ta dog\n");
  weft.write("pair.tsv", "the ships\tships the\n");
  weft.write("words.conll", "she\tO\n\n");
  weft.write("none.json", R"({"data":[]})");
  weft.write("chat.jsonl", R"({"instruction":"a","output":"b"})");
  weft.write("silent.jsonl", R"({"instruction":"a","output":""})");
  const std::string seq2seq =
      " --vocab 190 --encoder-layers 1 --decoder-layers 1 --width 16 --encoder-heads 2 "
      "--decoder-heads 2 --encoder-inner 32 --decoder-inner 32 --batch 128 --steps 2 --threads 2";
  const std::string gpt = " --layers 1 --heads 2 --width 16 --context 96 --batch 2 --steps 2";
  const std::string chat = "gpt --task instructions --chat-format alpaca --vocab 300 --data ";
  const std::string text = "encoder --text ";
  for (const auto& [arguments, message] : std::vector<std::pair<std::string, std::string>>{
           {"gpt --text empty.txt" + gpt, "holds no text"},
           {"gpt --text one.txt" + gpt, "use more text or a smaller context"},
           {chat + "empty.txt" + gpt, "there is no conversation"},
           {chat + "chat.jsonl" + gpt, "can be held out"},
           {chat + "silent.jsonl --validation-fraction 0" + gpt,
            "there is nothing to learn: each of the 1 conversations has an empty answer"},
           {text + "empty.txt --task mlm" + kEncoder, "there is no text"},
           {text + "blank.txt --task rtd" + kEncoder, "there is no text"},
           {text + "one.txt --task mlm+nsp" + kEncoder, "at least two sentences"},
           {text + "one.txt --task mlm+sop" + kEncoder, "at least two sentences"},
           {"encoder --task tag --train words.conll" + kEncoder, "there is nothing to learn"},
           {"encoder --task tag --train blank.txt" + kEncoder, "has no sentences"},
           {"encoder --task similarity --data similar.tsv" + kEncoder, "can be held out"},
           {"encoder --task similarity --data same.tsv" + kEncoder, "requires different scores"},
           {"encoder --task similarity --data empty.txt" + kEncoder, "no line with a score"},
           {"encoder --task answer --data none.json" + kEncoder, "has no questions"},
           {"seq2seq --pairs pair.tsv" + seq2seq, "cannot be split"},
           {"seq2seq --pairs blank.txt" + seq2seq, "has no text pairs"},
           {"seq2seq --task span-corruption --text blank.txt" + seq2seq, "there is no text"},
           {"seq2seq --task gap-sentences --text one.txt" + seq2seq, "at least 2 sentences"}}) {
    const Outcome outcome = weft.in(weft.path(""), "train " + arguments + " --out few.weft");
    BOOST_TEST_CONTEXT(arguments << "\n" << outcome.err) {
      BOOST_TEST((outcome.code == 1 || outcome.code == 2));
      BOOST_TEST(contains(outcome.err, message));
      BOOST_TEST(!contains(outcome.err, "diverged"));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
