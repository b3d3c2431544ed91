// The command `weft quantize` for every type of model. The quantised files can be used for
// inference but not trained, and the command reports the loss of quality.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <string>

#include "weft/models/tasks/quantize_model.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(quantize_command)
namespace {

const std::string kSmall =
    " --layers 1 --heads 2 --width 32 --inner 64 --batch 8 --warmup 2 --lr 0.005 --threads 2";

/// Returns |b - a| / max(a, 1) for the first numbers in "loss a -> b" or "perplexity a -> b".
double change_in(const std::string& line) {
  const std::size_t arrow = line.find(" -> ");
  BOOST_TEST_REQUIRE(arrow != std::string::npos, line);
  const double before = std::stod(line.substr(line.rfind(' ', arrow - 1) + 1));
  return std::abs(std::stod(line.substr(arrow + 4)) - before) / std::max(before, 1.0);
}

/// Converts m.weft to every format and evaluates the result on `data`. Checks that the last line
/// begins with `figure`, that the new file is smaller, and that `train` cannot resume training from
/// it. Also rounds activations with scales that are measured on `data`.
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
  const std::string path = data.substr(data.find(' ', 1) + 1);
  const Outcome made =
      weft("quantize " + model + " --out " + weft.path("static.weft") +
           " --force --activations int8 --activation-scales static --calibrate " + path + data);
  BOOST_TEST_REQUIRE(made.code == 0, made.err);
  BOOST_TEST(contains(made.out, "inputs    of "));
  BOOST_TEST(!contains(made.out, " 0 of them with static scales"));
  BOOST_TEST(change_in(last_line(made.out)) < 0.005, made.out);
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
  for (const std::string format : {"bf16", "int8"})
    check_error(weft(quantize + " --caches " + format), 2, "--caches " + format + ": ");
  check_error(weft(quantize + " --caches int8"), 2, "has no key/value caches");
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

BOOST_AUTO_TEST_CASE(decoders_generate_with_caches_of_every_format) {
  const Shell weft;
  const Shell talking(std::string("{ ") + WEFT_PROGRAM);  // arguments end with "<FILE ;}"
  weft.write("said.txt", "the\nto\n");
  const std::string format_file =
      weft.write("plain.jinja", "{% for m in messages %}{{ m['content'] }} {% endfor %}");
  const std::string gpt = std::string(WEFT_FIXTURES) + "/weft_files/gpt.weft";
  for (const std::string format : {"f32", "bf16", "int8"}) {
    const std::string file = weft.path(format + ".weft");
    const auto made = weft("quantize " + gpt + " --out " + file + " --caches " + format);
    BOOST_TEST(made.code == 0);
    BOOST_TEST(contains(made.out, "key/value caches as " + format) == (format != "f32"));
    for (const std::string options : {" --greedy", " --beams 3"}) {
      BOOST_TEST(weft("generate " + file + " --prompt the --tokens 12" + options).code == 0);
    }
    const Outcome chat = talking("chat " + file + " --format " + format_file + " --greedy" +
                                 " --tokens 3 --room 3 --json <" + weft.path("said.txt") + " ;}");
    BOOST_TEST(chat.code == 0, chat.err);
    BOOST_TEST(std::count(chat.out.begin(), chat.out.end(), '\n') == 2, chat.out);
  }
  // Scores read the caches only with --cached.
  weft.write("texts.txt", "the of and to\nin\nthe in the to of\n");
  const auto scores = [&](const std::string& file, const std::string& option = "") {
    const Outcome scored =
        weft("score " + weft.path(file) + " --json --input " + weft.path("texts.txt") + option);
    BOOST_TEST(scored.code == 0, scored.err);
    std::vector<double> totals;
    for (std::size_t at = 0; (at = scored.out.find("\"total\":", at)) != std::string::npos; ++at)
      totals.push_back(std::stod(scored.out.substr(at + 8)));
    BOOST_TEST_REQUIRE(totals.size() == 3U);
    return totals;
  };
  const std::vector<double> exact = scores("f32.weft"), same = scores("int8.weft");
  BOOST_TEST(same == exact, boost::test_tools::per_element());
  for (const auto& [file, least, most] :
       {std::tuple("f32.weft", 0.0, 2e-4), {"bf16.weft", 1e-5, 0.05}, {"int8.weft", 1e-5, 0.05}}) {
    const std::vector<double> cached = scores(file, " --cached");
    double difference = 0;
    for (std::size_t i = 0; i < exact.size(); ++i)
      difference = std::max(difference, std::abs(cached[i] - exact[i]));
    BOOST_TEST(difference >= least, file);
    BOOST_TEST(difference <= most, file);
  }
  check_error(weft(std::string("score ") + WEFT_FIXTURES +
                   "/weft_files/translator.weft --cached --prompt a --continuation b"),
              2, "--cached is for decoders");
  check_error(weft("quantize " + gpt + " --out " + weft.path("x.weft") + " --caches int4"), 2,
              "--caches");
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
  for (const std::string format : {"bf16", "int8"}) {
    const std::string narrow = weft.path("narrow.weft");
    BOOST_TEST(contains(weft("quantize " + weft.path("m.weft") + " --out " + narrow + " --force" +
                             " --caches " + format)
                            .out,
                        "key/value caches as " + format));
    BOOST_TEST(weft("translate " + narrow + " 'the ship'").code == 0);
    BOOST_TEST(weft("translate " + narrow + " 'the ship' --beams 2").code == 0);
  }
}

/// Returns the change in percent from "perplexity 3.1 -> 3.2 (+1.23%), ...".
double change_in_percent(const std::string& out) {
  const std::string line = last_line(out);
  BOOST_TEST_REQUIRE(line.starts_with("perplexity "), out);
  return std::stod(line.substr(line.find('(') + 1));
}

BOOST_AUTO_TEST_CASE(inputs_of_products_are_rounded_with_measured_scales) {
  const Shell weft;
  write_texts(weft);
  const std::string documents = weft.path("documents"), text = " --text " + documents;
  const Outcome trained = weft(
      "train gpt" + text + " --out " + weft.path("m.weft") + " --layers 2 --heads 2 --width 32" +
      " --context 16 --batch 8 --warmup 2 --lr 0.01 --steps 60 --threads 2");
  BOOST_TEST(trained.code == 0, trained.err);
  const std::string quantize =
      "quantize " + weft.path("m.weft") + " --force --out " + weft.path("q.weft") + " ";
  const std::string calibrate = " --calibrate " + documents + " --calibration-lines 60";
  const std::string fixed = calibrate + " --activation-scales static";
  const std::string report = " --report " + weft.path("r.json");

  struct Case {
    std::string options, inputs;
    double bound;  // on the change of the perplexity, in percent
  };
  const Case cases[] = {{"--weights int8", "0 of them", 0.5},
                        {"--weights int8" + fixed, "9 of them", 0.5},
                        {"--weights int8 --activation-percentile 99.9" + fixed,
                         "9 of them with static scales for 99.9% of the magnitudes", 0.5},
                        {"--weights q8_0", "0 of them", 0.5},
                        {"--weights q4_0", "0 of them", 3},
                        {"--weights int4 --activation-aware" + fixed, "9 of them", 3}};
  for (const Case& one : cases) {
    BOOST_TEST_CONTEXT(one.options) {
      const Outcome made = weft(quantize + one.options + " --activations int8" + text + report);
      BOOST_TEST(made.code == 0, made.err);
      BOOST_TEST(contains(made.out, "with int8 activations: "));
      BOOST_TEST(contains(made.out, " matrices by their inputs, estimated") ==
                 contains(one.options, "--activation-aware"));
      BOOST_TEST(contains(made.out, "inputs    of 9 matrices as int8, " + one.inputs), made.out);
      BOOST_TEST(std::abs(change_in_percent(made.out)) < one.bound, made.out);
      const Outcome found = weft("evaluate " + weft.path("q.weft") + text);
      BOOST_TEST(found.code == 0, found.err);
      BOOST_TEST(weft("generate " + weft.path("q.weft") + " --prompt the --tokens 4").code == 0);

      const std::string json = read_whole_file(weft.path("r.json"));
      const QuantizationReport read = QuantizationReport::from_json(json);
      BOOST_TEST(read.to_json() == json);
      const bool measured = contains(one.options, "--calibrate");
      BOOST_TEST(contains(json, "\"output_error\": null"));  // the positions are only looked up
      BOOST_TEST(contains(json, "\"loss_before\": null"));
      for (const MatrixReport& matrix : read.matrices) {
        const bool multiplied = matrix.activations == ActivationFormat::int8;
        BOOST_TEST(matrix.output_error.has_value() == (measured && multiplied), matrix.name);
        BOOST_TEST(matrix.activation_scale.has_value() == (measured && multiplied), matrix.name);
        BOOST_TEST_REQUIRE(matrix.weight_error.has_value());
        BOOST_TEST(*matrix.weight_error > 0);
        BOOST_TEST(*matrix.weight_error < 0.2);
        BOOST_TEST(matrix.bytes_after < matrix.bytes_before);
        BOOST_TEST(contains(made.out, matrix.name));
      }
    }
  }
  // A bound that int4 does not meet without bf16 matrices.
  const Outcome bounded =
      weft(quantize + "--weights int4 --keep '*wpe*' --max-loss-increase 0.0004" + calibrate +
           text + report);
  BOOST_TEST(bounded.code == 0, bounded.err);
  const QuantizationReport kept =
      QuantizationReport::from_json(read_whole_file(weft.path("r.json")));
  BOOST_TEST_REQUIRE(kept.loss_after.has_value());
  BOOST_TEST(*kept.loss_after <= *kept.loss_before + 0.0004);
  BOOST_TEST(contains(bounded.out, "matrices as bf16: "));
  BOOST_TEST(contains(bounded.out, "bound     calibration loss "));
}

BOOST_AUTO_TEST_CASE(calibration_options_without_effect_are_rejected) {
  const Shell weft;
  write_texts(weft);
  const std::string documents = weft.path("documents");
  const std::string quantize =
      "quantize " WEFT_FIXTURES "/weft_files/gpt.weft --out " + weft.path("x.weft") + " ";
  const std::string calibrate = " --calibrate " + documents;
  const std::string int8 = "--activations int8 ";
  const std::pair<std::string, std::string> cases[] = {
      {int8 + "--weights bf16", "--activations int8 requires --weights int8, q8_0 or int4"},
      {"--activation-scales static" + calibrate,
       "--activation-scales static requires --activations int8"},
      {int8 + "--activation-percentile 99" + calibrate,
       "--activation-percentile requires --activation-scales static"},
      {int8 + "--activation-scales static --activation-percentile 0" + calibrate,
       "--activation-percentile"},
      {int8 + "--activation-scales static", "static requires data: --calibrate FILE"},
      {"--activation-aware" + calibrate, "--activation-aware is for 4-bit weights"},
      {"--weights int4 --activation-aware", "--activation-aware requires data: --calibrate FILE"},
      {"--max-loss-increase 0.1", "--max-loss-increase requires data: --calibrate FILE"},
      {"--weights bf16 --max-loss-increase 0.1" + calibrate, "choose other --weights"},
      {"--calibration-lines 3",
       "--calibration-lines is the number of lines that --calibrate reads"},
      {int8 + calibrate, "--calibrate has no effect without --activation-scales static"},
      {int8 + "--activation-scales static --calibration-lines 3 --calibrate " + weft.path(""),
       "is a folder"},
      {"--report " + weft.path("r.svg"), "its name should not end in .svg"}};
  for (const auto& [options, message] : cases) check_error(weft(quantize + options), 2, message);
  weft.write("r.json", "{}");
  check_error(weft(quantize + "--report " + weft.path("r.json")), 1,
              "is not a report on quantised matrices");
  check_error(weft(quantize + "--keep side"), 1,
              "pattern 'side' matches no matrix that can be kept in bf16");
  for (const std::string text : {"", "{}", "[]", R"({"report": "quantization", "matrices": [1]})"})
    BOOST_CHECK_EXCEPTION(QuantizationReport::from_json(text), FormatError,
                          testing::message_contains({"not a quantization report: "}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
