// The command `weft train seq2seq`: pre-training on plain text, and fine-tuning the result for
// translation.
#include <boost/test/unit_test.hpp>
#include <string>

#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(seq2seq_pretraining_command)
namespace {

class Files {
 public:
  Files() {
    std::string text, pairs;
    for (int i = 0; i < 40; ++i) {
      text += "first the ships sail out\nthen the ships come home " + std::to_string(i % 7) +
              "\nlast the ships lie still\n\n";
      pairs += "the ships " + std::to_string(i) + "\tships the " + std::to_string(i) + "\n";
    }
    weft.write("documents", text);
    weft.write("pairs.tsv", pairs);
  }
  /// Runs `weft train seq2seq` with the documents as text and with an output file.
  Outcome train(const std::string& arguments) const {
    return weft("train seq2seq --threads 2 --text " + weft.path("documents") + " --out " +
                weft.path("m.weft") + " " + arguments);
  }
  const Shell weft;
};

const std::string kTiny =
    " --encoder-layers 1 --decoder-layers 1 --width 16 --encoder-heads 2 --decoder-heads 2"
    " --encoder-inner 32 --decoder-inner 32 --batch 128 --warmup 2 --steps 6 --eval-every 3";
const std::string kSmall = " --passage 32 --validation-fraction 0.1" + kTiny;
/// The vocabulary must be larger if it has sentinels, because sentinels count as pieces.
const std::string kSentinels = " --vocab 160" + kSmall, kMask = " --vocab 60" + kSmall;

BOOST_AUTO_TEST_CASE(every_objective_is_trained_resumed_and_fine_tuned_for_translation) {
  const Files files;
  const Shell& weft = files.weft;
  const std::string model = weft.path("m.weft"), adapted = weft.path("t.weft");
  const std::pair<const char*, std::string> tasks[] = {{"span-corruption", kSentinels},
                                                       {"ul2", kSentinels},
                                                       {"denoising", kMask},
                                                       {"gap-sentences", kMask}};
  for (const auto& [task, small] : tasks) {
    BOOST_TEST_CONTEXT(task) {
      const std::string task_option = std::string("--task ") + task;
      const Outcome first = files.train(task_option + small + " --stop-after 3");
      BOOST_TEST(first.code == 0, first.err);
      BOOST_TEST(
          contains(first.out, std::string("objective ") + task + ", passages of up to 32 tokens"));
      BOOST_TEST(contains(first.out, "37 documents"));
      BOOST_TEST(contains(first.out, "continue with: weft train seq2seq --text "));
      // The objective is read from the file.
      const Outcome second =
          weft("train seq2seq --text " + weft.path("documents") + " --resume " + model);
      BOOST_TEST(second.code == 0, second.err);
      BOOST_TEST(contains(second.out, "held out  loss "));
      BOOST_TEST(contains(second.out, "\ntarget    "));
      const Outcome third =
          weft("train seq2seq --pairs " + weft.path("pairs.tsv") + " --from " + model + " --out " +
               adapted + " --steps 2 --batch 64 --freeze encoder.layers.*");
      BOOST_TEST(third.code == 0, third.err);
      BOOST_TEST(contains(third.out, "from      " + model));
      BOOST_TEST(contains(third.out, "greedy    BLEU"));
      BOOST_TEST(weft("translate " + adapted + " 'the ships 3'").code == 0);
      const Outcome quantised = weft("quantize " + model + " --weights int8 --out " +
                                     weft.path("q.weft") + " --text " + weft.path("documents"));
      BOOST_TEST(quantised.code == 0, quantised.err);
      BOOST_TEST(contains(quantised.out, "perplexity"));
    }
  }
  // A translator can be fine-tuned again, including its formerly frozen parameters.
  BOOST_TEST(weft("train seq2seq --pairs " + weft.path("pairs.tsv") + " --from " + adapted +
                  " --out " + weft.path("u.weft") + " --steps 2 --batch 64 --layer-lr-decay 0.5")
                 .code == 0);
}

BOOST_AUTO_TEST_CASE(objectives_that_do_not_need_sentences_accept_token_files) {
  const Files files;
  const Shell& weft = files.weft;
  const std::string tokenizer = weft.path("t.json"), corpus = weft.path("corpus"),
                    model = weft.path("m.weft");
  const auto succeeds = [&](const std::string& command) {
    const Outcome outcome = weft(command);
    BOOST_TEST(outcome.code == 0, outcome.err);
    return outcome.out;
  };
  succeeds("tokenizer train " + weft.path("documents") +
           " --kind unigram --vocab 160 --sentinels 100 --special '<pad>' --special '</s>'"
           " --special '<unk>' --special '[R]' --special '[S]' --special '[X]'"
           " --special '<mask>' --out " +
           tokenizer);
  succeeds("data tokenize " + weft.path("documents") + " --documents blank-line --tokenizer " +
           tokenizer + " --out " + corpus);
  const std::string train = "train seq2seq --text " + corpus + kSmall + " --out " + model;
  for (const std::string task : {"span-corruption", "ul2", "denoising --no-permute-sentences"}) {
    const std::string whole = succeeds(train + " --force --task " + task);
    BOOST_TEST(contains(whole, "36 documents"));
    BOOST_TEST(contains(whole, "\ntarget    "));
  }
  // A run that is stopped and resumed gives the same result.
  const std::string task = " --task span-corruption";
  succeeds(train + task);
  const std::string evaluated = succeeds("evaluate " + model + " --text " + corpus);
  succeeds(train + task + " --stop-after 3");
  succeeds("train seq2seq --text " + corpus + " --resume " + model);
  BOOST_TEST(succeeds("evaluate " + model + " --text " + corpus) == evaluated);
  const auto refused = [&](const std::string& arguments, const std::string& says) {
    const Outcome outcome = weft(train + arguments);
    BOOST_TEST(outcome.code != 0);
    BOOST_TEST(contains(outcome.err, says), outcome.err);
  };
  refused(" --task denoising",
          "do not record sentence boundaries, which denoising requires unless");
  refused(" --task gap-sentences",
          "do not record sentence boundaries, which gap-sentences requires");
  refused(task + " --vocab 100", "cannot be used with token files");
  refused(task + " --text " + weft.path("documents"), "token files and text files cannot be mixed");
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_pre_training_options) {
  const Files files;
  const Shell& weft = files.weft;
  const std::string pairs = " --pairs " + weft.path("pairs.tsv");
  check_error(files.train("--task t5"), 2, "--task");
  check_error(files.train("--task ul2 --density 0.2" + kSentinels), 2,
              "--density is for --task span-corruption, not for --task ul2");
  check_error(files.train("--task span-corruption --density 1.5" + kSentinels), 2,
              "density must be in (0, 1), not 1.5");
  check_error(
      files.train("--task denoising --passage 600" + kTiny + " --vocab 60"), 2,
      "context must be greater than passage (600), to leave room for the end id, but is 512");
  check_error(
      files.train("--task gap-sentences --passage 8" + kTiny + " --vocab 60"), 2,
      "the training part of the text: no passage of up to 8 tokens has at least 2 sentences");
  check_error(files.train("--task ul2" + pairs), 2, "--pairs is for --task translation");
  check_error(files.train("--task ul2 --freeze x" + kSentinels), 2, "no parameter matches 'x'");
  check_error(files.train("--task translation" + pairs), 2,
              "--text is for --task span-corruption, ul2, denoising, gap-sentences, not for --task "
              "translation");
  check_error(weft("train seq2seq --density 0.2" + pairs + " --out " + weft.path("m.weft")), 2,
              "--density is for --task span-corruption, not for --task translation");
  check_error(weft("train seq2seq --task ul2 --out " + weft.path("m.weft")), 2,
              "--text is required");
  check_error(weft("train seq2seq --new x" + pairs + " --out " + weft.path("m.weft")), 2,
              "--reinit needs --from");

  BOOST_TEST(files.train("--task gap-sentences --stop-after 1" + kMask).code == 0);
  const std::string resume = " --resume " + weft.path("m.weft");
  check_error(weft("train seq2seq --task ul2" + resume), 2,
              "was trained with --task gap-sentences");
  check_error(weft("train seq2seq --gap-ratio 0.5" + resume), 2,
              "--gap-ratio cannot be given with --resume");
  check_error(weft("train seq2seq" + pairs + resume), 2, "--pairs is for --task translation");
  check_error(weft("train seq2seq --vocab 90" + pairs + " --from " + weft.path("m.weft") +
                   " --out " + weft.path("t.weft")),
              2, "--vocab cannot be given with --from");
  check_error(weft("train seq2seq --width 32" + pairs + " --from " + weft.path("m.weft") +
                   " --out " + weft.path("t.weft")),
              2, "do not match the model: mismatched: 'tokens.weight' is");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
