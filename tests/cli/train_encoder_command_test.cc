// The command `weft train encoder`: pre-training, fine-tuning, resumed runs, errors.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/models/tasks/text_classification/text_classifier.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(train_encoder_command)
namespace {

/// Writes the file `sms`, which contains labelled texts, and the plain text file `text`.
void write_texts(const Shell& weft) {
  std::string data, text;
  for (int i = 0; i < 90; ++i) {
    data += i % 3 == 0 ? "spam\twin a free prize now call " : "ham\tsee you at home then ";
    data += std::to_string(i % 9) + "\n";
    text += "all work and no play makes jack a dull boy " + std::to_string(i % 7) + "\n";
  }
  weft.write("sms", data);
  weft.write("text", text);
}

const std::string kSmall =
    " --vocab 70 --layers 1 --heads 2 --width 16 --inner 32 --context 16 --batch 4 --warmup 2";

BOOST_AUTO_TEST_CASE(an_encoder_is_pretrained_and_fine_tuned) {
  const Shell weft;
  write_texts(weft);
  const std::string sms = " --threads 2 --data " + weft.path("sms"),
                    both = sms + " --text " + weft.path("text"), encoder = weft.path("mlm.weft"),
                    spam = weft.path("spam.weft"), mlm = "train encoder --task mlm",
                    classifier = "train encoder --task classify";
  const Outcome stopped =
      weft(mlm + both + kSmall + " --whole-words --steps 6 --stop-after 4 --out " + encoder);
  BOOST_TEST(stopped.code == 0);
  // There are 72 of the 90 labelled texts and all 90 lines. Of these 162 texts, 3 are held out.
  BOOST_TEST(contains(stopped.out, "159 lines"));
  BOOST_TEST(contains(stopped.out, "stopped   at step 4 of 6"));
  const Outcome resumed =
      weft(mlm + both + " --resume " + encoder + " --best " + weft.path("best.weft"));
  BOOST_TEST(resumed.code == 0);
  BOOST_TEST(contains(resumed.out, "of the masked tokens predicted"));
  BOOST_TEST(contains(resumed.out, "over up to 20 held-out batches: " + weft.path("best.weft")));

  const Outcome tuned = weft(classifier + sms + " --from " + encoder +
                             " --freeze 'embeddings.*' --layer-lr-decay 0.9 --steps 60 --batch 8"
                             " --lr 0.01 --warmup 5 --out " +
                             spam + " --best " + weft.path("best.weft"));
  BOOST_TEST(tuned.code == 0);
  BOOST_TEST(contains(tuned.out, "4 new: pooler.weight, pooler.bias, classifier.weight"));
  BOOST_TEST(contains(tuned.out, "frozen    4 parameters"));
  BOOST_TEST(contains(tuned.out, "72 texts for training, 18 held out (test set)"));
  BOOST_TEST(contains(tuned.out, "held out  accuracy 100.00% on 18 texts"));
  for (const char* name : {"spam.svg", "spam.confusion.svg", "spam.attention.svg"})
    BOOST_TEST(std::filesystem::exists(weft.path(name)));
  const std::vector<std::string> texts = {"call now, win"};
  BOOST_TEST(classify(load_model<TextClassifier>(spam), texts, 1)[0].label == 1);
  const Outcome found = weft("classify " + spam + " 'call now, win' --top 1");
  BOOST_TEST(found.code == 0);
  BOOST_TEST(found.out.starts_with("call now, win  spam "));
  BOOST_TEST(weft("classify " + encoder + " x").code == 1);

  const Outcome chosen = weft(classifier + sms + kSmall +
                              " --held-out validation --steps 4 --out " + weft.path("v.weft"));
  BOOST_TEST(chosen.code == 0);
  BOOST_TEST(contains(chosen.out, "57 texts for training, 15 held out (validation set)"));
}

BOOST_AUTO_TEST_CASE(a_classifier_is_compared_with_its_baseline) {
  const Shell weft;
  write_texts(weft);
  const std::string sms = " --threads 2 --data " + weft.path("sms"), net = weft.path("net.weft");
  const Outcome made = weft(
      "train encoder --task classify --layers 1 --width 16 --members 1 --conv-groups 1 "
      "--conv-kernel 3 --conv-least-kernel 0" +
      sms + " --out " + net);
  BOOST_TEST_CONTEXT(made.out << made.err) {
    BOOST_TEST(made.code == 0);
    BOOST_TEST(contains(made.out, "400 steps of 32 texts"));
    BOOST_TEST(contains(made.out, "held out  accuracy 100.00% on 18 texts"));
    BOOST_TEST(contains(made.out,
                        "baseline  accuracy 100.00% on 18 texts: logistic regression on TF-IDF "
                        "features of words and word pairs, tuned on the training texts"));
  }
  // The head options are read from the file together with the weights.
  const std::string more = weft.path("more.weft");
  const Outcome tuned = weft("train encoder --task classify --from " + net + sms +
                             " --steps 4 --word-dropout 0.1 --out " + more);
  BOOST_TEST_CONTEXT(tuned.out << tuned.err) {
    BOOST_TEST(tuned.code == 0);
    BOOST_TEST(contains(tuned.out, "of preset bert-mini"));
  }
  BOOST_TEST(
      (load_model<TextClassifier>(more).head ==
       ClassifierHead{
           .summary = Summary::max, .lower_case = true, .word_dropout = 0.1, .by_length = true}));

  // Use a separate test file.
  weft.write("test", "spam\tWIN a free prize\nham\tsee you then\n");
  const std::string test = " --test " + weft.path("test");
  const Outcome tested = weft("train encoder --task classify" + sms + test + kSmall +
                              " --steps 4 --out " + more + " --force");
  BOOST_TEST_CONTEXT(tested.out << tested.err) {
    BOOST_TEST(tested.code == 0);
    BOOST_TEST(contains(tested.out, "90 texts for training, 2 held out (test set)"));
    BOOST_TEST(contains(tested.out, " on 2 texts: logistic regression"));
  }
  BOOST_TEST(contains(weft("evaluate " + more + sms + test).out, "on 2 texts"));
  BOOST_TEST(contains(weft("evaluate " + more + test + " --label first").out, "on 2 texts"));
  check_error(weft("train encoder --task classify" + test + " --out " + net), 2,
              "--data is required");
  check_error(weft("train encoder --resume " + more + test + " --label first"), 2,
              "--data is required");
  check_error(weft("train encoder --task classify" + sms + test + " --split-seed 2 --out " + net),
              2, "--split-seed selects the held-out part of --data: do not combine it with --test");
  weft.write("other", "spam\tWIN a free prize\nfish\tsee you then\n");
  check_error(weft("train encoder --task classify" + sms + " --test " + weft.path("other") +
                   " --out " + net),
              1,
              "the --test files have the classes fish, ham, spam, but the --data files have ham");
}

BOOST_AUTO_TEST_CASE(train_encoder_errors_are_one_line) {
  const Shell weft;
  write_texts(weft);
  const std::string out = " --out " + weft.path("m.weft"), sms = " --data " + weft.path("sms");
  const auto fails = [&](const std::string& task, const std::string& arguments, int code,
                         const std::string& part) {
    BOOST_TEST_CONTEXT(task << arguments)
    check_error(weft("train encoder --task " + task + arguments), code, part);
  };
  fails("mlm", out, 2, "--text or --data is required");
  fails("classify", out, 2, "--data is required");
  fails("translate", out, 2, "--task");
  fails("mlm", sms + out + kSmall + " --steps 4 --freeze 'a*'", 2, "no parameter matches 'a*'");
  fails("classify", sms + out + " --whole-words", 2,
        "--whole-words is for --task mlm, mlm+nsp, mlm+sop, rtd, not for --task classify");
  fails("classify", sms + out + kSmall + " --steps 4 --freeze 'decoder.*'", 2,
        "no parameter matches 'decoder.*'");
  fails("classify", sms + out + " --label first --from /nowhere.weft", 1, "/nowhere.weft");
  fails("classify", sms + out + kSmall + " --from /nowhere.weft", 2,
        "--vocab cannot be given with --from, because the tokenizer of that model is used");
  fails("classify", sms + out + " --new 'pooler.*'", 2, "--reinit needs --from");
  fails("classify", sms + out + " --validation-fraction 0.2", 2,
        "--validation-fraction is for pre-training: use --test-fraction and --held-out");
  fails("classify", " --data " + weft.path("text") + out, 1, "expected a label and a text");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
