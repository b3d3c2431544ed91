// The command `weft quantize` for every type of model. The quantised files can be used for
// inference but not trained, and the command reports the loss of quality.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>

#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(quantize_command)
namespace {

const std::string kSmall =
    " --layers 1 --heads 2 --width 32 --inner 64 --batch 8 --warmup 2 --lr 0.005 --threads 2";

/// Converts m.weft to every format and evaluates the result on `data`. Checks that the last line
/// begins with `figure`, that the new file is smaller, and that `train` cannot resume training from
/// it.
void check_formats(const Shell& weft, const std::string& data, const std::string& figure,
                   const std::string& train) {
  const std::string model = weft.path("m.weft");
  for (const std::string weights : {"bf16", "int8", "q8_0", "int4"}) {
    BOOST_TEST_CONTEXT(weights) {
      const std::string small = weft.path(weights + ".weft");
      const Outcome made =
          weft("quantize " + model + " --out " + small + " --weights " + weights + data);
      BOOST_TEST(made.code == 0, made.err);
      BOOST_TEST(contains(made.out, " as " + weights));
      BOOST_TEST(last_line(made.out).starts_with(figure), made.out);
      BOOST_TEST(contains(last_line(made.out), " -> "));
      BOOST_TEST(std::filesystem::file_size(small) < std::filesystem::file_size(model));
      const Outcome measured = weft("evaluate " + small + data);
      BOOST_TEST(measured.code == 0, measured.err);
      check_error(weft(train + " --resume " + small + " --out " + weft.path("x.weft")), 2,
                  "cannot be trained: its weights were quantised");
    }
  }
}

void write_texts(const Shell& weft) {
  std::string sms, documents, pairs;
  for (int i = 0; i < 90; ++i) {
    const std::string number = std::to_string(i % 9);
    sms += (i % 3 == 0 ? "spam\twin a free prize now call " : "ham\tsee you at home then ") +
           number + "\n";
    documents += "first the ships sail out\nthen they come home " + number + "\n\n";
    pairs += "the ship " + number + std::to_string(i) + "\tdas schiff " + number + "\n";
  }
  weft.write("sms", sms);
  weft.write("documents", documents);
  weft.write("pairs.tsv", pairs);
}

BOOST_AUTO_TEST_CASE(folders_without_a_tokenizer_are_rejected) {
  const Shell weft;
  check_error(weft("quantize " WEFT_FIXTURES "/goldens/qwen3-default --out " + weft.path("x.weft")),
              1, "qwen3-default has no tokenizer");
  BOOST_TEST(!std::filesystem::exists(weft.path("x.weft")));
}

BOOST_AUTO_TEST_CASE(encoders_are_quantised) {
  const Shell weft;
  write_texts(weft);
  const std::string out = " --out " + weft.path("m.weft"), data = " --data " + weft.path("sms");
  const std::string classify = "train encoder --task classify" + data;
  BOOST_TEST(weft(classify + out + kSmall + " --steps 40 --context 16 --vocab 60").code == 0);
  check_formats(weft, data, "held out  loss ", classify);
  const Outcome found = weft("classify " + weft.path("int8.weft") + " 'call now, win' --top 1");
  BOOST_TEST(found.out.starts_with("call now, win  spam "));
  const Outcome kept = weft("quantize " + weft.path("m.weft") + " --out " + weft.path("y.weft") +
                            data + " --test-fraction 0.5 --split-seed 3");
  BOOST_TEST(contains(last_line(kept.out), "accuracy 1.0000 -> 1.0000"));
  const std::string quantize = "quantize " + weft.path("m.weft") + " --out " + weft.path("y.weft");
  check_error(
      weft(quantize + " --text " + weft.path("documents")), 2,
      "m.weft contains a text classifier: evaluate it with --data or --test, not with --text");
  check_error(weft(quantize + " --caches bf16"), 2, "has no key/value caches");
  weft.write("others", "a\tone\nb\ttwo\na\tthree\n");
  check_error(weft(quantize + " --data " + weft.path("others")), 1,
              "the model has the classes ham, spam, but the data have a, b");

  const std::string text = " --text " + weft.path("documents");
  for (const std::string task : {"mlm", "mlm+nsp", "rtd"}) {
    const std::string train = "train encoder --task " + task + text;
    BOOST_TEST(weft(train + out + kSmall + " --steps 4 --context 16 --vocab 60 " +
                    "--validation-fraction 0.1")
                   .code == 0);
    check_formats(weft, text, "held out  loss ", train);
  }
  BOOST_TEST(contains(last_line(weft(quantize + text).out), "replaced_auc"));
  BOOST_TEST(weft("train encoder" + text + out + kSmall + " --steps 4 --context 16 --vocab 60 " +
                  "--validation-fraction 0")
                 .code == 0);
  check_error(weft(quantize + text), 1, "no text was held out in training");
}

BOOST_AUTO_TEST_CASE(quantised_weights_are_not_quantised_again) {
  const Shell weft;
  const std::string gpt = std::string(WEFT_FIXTURES) + "/weft_files/gpt.weft";
  const std::string small = weft.path("small.weft"), again = " --out " + weft.path("again.weft");
  BOOST_TEST(weft("quantize " + gpt + " --out " + small).code == 0);
  check_error(weft("quantize " + small + again), 2,
              "the weights of " + small + " are quantised already");
  // A part of the weights may be quantised later.
  BOOST_TEST(weft("quantize " + gpt + " --only '*wte*' --force --out " + small).code == 0);
  BOOST_TEST(weft("quantize " + small + again).code == 0);
}

BOOST_AUTO_TEST_CASE(vision_transformers_and_translators_are_quantised) {
  const Shell weft;
  write_texts(weft);
  const std::string out = " --out " + weft.path("m.weft"),
                    pairs = " --pairs " + weft.path("pairs.tsv");
  std::string train, test;
  for (int i = 0; i < 60; ++i) {
    std::string line;
    for (int p = 0; p < 16; ++p)
      line += std::to_string(((p < 8) == (i % 2 == 0) ? 9 : 0) + (i * 7 + p * 5) % 8) + ",";
    (i < 40 ? train : test) += line + std::to_string(i % 2) + "\n";
  }
  weft.write("data/digits.tra", train);
  weft.write("data/digits.tes", test);
  const std::string data = " --data " + weft.path("data");
  BOOST_TEST(weft("train vit" + data + out + kSmall +
                  " --steps 40 --image-height 4 --image-width 4 --shift 0 --rotation 0")
                 .code == 0);
  check_formats(weft, data, "held out  loss ", "train vit" + data);
  check_error(weft("quantize " + weft.path("m.weft") + " --out " + weft.path("x.weft") + data +
                   " " + weft.path("sms")),
              2, "--data accepts a single path here, not 2");

  BOOST_TEST(weft("train seq2seq" + pairs + out +
                  " --vocab 50 --encoder-layers 1 --decoder-layers 1 --encoder-heads 2 "
                  "--decoder-heads 2 --encoder-inner 64 --decoder-inner 64 --width 32 --batch 200"
                  " --steps 4 --warmup 1 --threads 2")
                 .code == 0);
  check_formats(weft, pairs, "perplexity ", "train seq2seq" + pairs);
  BOOST_TEST(weft("translate " + weft.path("int8.weft") + " 'the ship'").code == 0);
  const std::string narrow = weft.path("narrow.weft");
  BOOST_TEST(
      contains(weft("quantize " + weft.path("m.weft") + " --out " + narrow + " --caches bf16").out,
               "key/value caches as bf16"));
  BOOST_TEST(weft("translate " + narrow + " 'the ship'").code == 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
