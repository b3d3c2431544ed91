// The command `weft train encoder` with the pre-training objectives.
#include <boost/test/unit_test.hpp>
#include <string>

#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(pretraining_command)
namespace {

class Files {
 public:
  Files() {
    std::string text, sms;
    for (int i = 0; i < 40; ++i) {
      text += "first the ships sail out\nthen the ships come home " + std::to_string(i % 7) +
              "\nlast the ships lie still\n\n";
      sms += (i % 3 == 0 ? "spam\tfirst then last " : "ham\tthe ships sail ") +
             std::to_string(i % 9) + "\n";
    }
    weft.write("documents", text);
    weft.write("sms", sms);
  }
  /// Runs `weft train encoder` with the documents as text and with an output file.
  Outcome train(const std::string& arguments) const {
    return weft("train encoder --threads 2 --text " + weft.path("documents") + " --out " +
                weft.path("m.weft") + " " + arguments);
  }
  const Shell weft;
};

const std::string kSmall =
    " --vocab 60 --layers 1 --heads 2 --width 16 --inner 32 --context 20 --batch 4 --warmup 2"
    " --steps 6 --eval-every 2";

BOOST_AUTO_TEST_CASE(every_objective_is_trained_resumed_and_fine_tuned) {
  const Files files;
  const Shell& weft = files.weft;
  const std::string model = weft.path("m.weft");
  const std::pair<const char*, const char*> tasks[] = {
      {"mlm", "of the masked tokens predicted\n"},
      {"mlm+nsp", "% of the pairs classified correctly\n"},
      {"mlm+sop", "% of the pairs classified correctly\n"},
      {"rtd", "by the generator, replaced tokens detected with accuracy"}};
  for (const auto& [task, result] : tasks) {
    BOOST_TEST_CONTEXT(task) {
      const std::string task_option = std::string("--task ") + task;
      const Outcome first = files.train(task_option + kSmall +
                                        " --validation-fraction 0.1 --whole-words --stop-after 3");
      BOOST_TEST(first.code == 0, first.err);
      BOOST_TEST(contains(first.out, std::string("objective ") + task + ", whole words"));
      BOOST_TEST(contains(first.out, "masked_accuracy"));
      BOOST_TEST(contains(first.out, "continue with: weft train encoder --text "));
      // The objective is read from the file.
      const Outcome second =
          weft("train encoder --text " + weft.path("documents") + " --resume " + model);
      BOOST_TEST(second.code == 0, second.err);
      BOOST_TEST(contains(second.out, std::string("objective ") + task + ", whole words"));
      BOOST_TEST(contains(last_line(second.out), std::string(result).substr(0, 20)));
      const Outcome third =
          weft("train encoder --task classify --data " + weft.path("sms") + " --from " + model +
               " --steps 4 --batch 4 --warmup 1 --eval-every 2 --eval-batches 1 --out " +
               weft.path("c.weft"));
      BOOST_TEST(third.code == 0, third.err);
      BOOST_TEST(contains(third.out, "parameters loaded"));
    }
  }
  BOOST_TEST(contains(files.train("--task rtd" + kSmall + " --generator-share 0.5").out,
                      "generator width 8, weight 50 for replaced-token detection"));
}

BOOST_AUTO_TEST_CASE(modernbert_is_pre_trained_fine_tuned_and_exported) {
  const Files files;
  const Shell& weft = files.weft;
  const std::string model = weft.path("m.weft"), classifier = weft.path("c.weft");
  const Outcome trained = files.train(
      "--task mlm --preset modernbert-mini --mask-rate 0.3 --vocab 60 --layers 3 --heads 2 --width "
      "16 --inner 24 --context 20 --attention-window 4 --batch 4 --warmup 2 --steps 6 --eval-every "
      "2");
  BOOST_TEST(trained.code == 0, trained.err);
  const Outcome tuned =
      weft("train encoder --task classify --data " + weft.path("sms") + " --from " + model +
           " --steps 4 --batch 4 --warmup 1 --eval-every 2 --eval-batches 1 --out " + classifier);
  BOOST_TEST(tuned.code == 0, tuned.err);
  for (const auto& [file, architecture] : {std::pair{model, "ModernBertForMaskedLM"},
                                           {classifier, "ModernBertForSequenceClassification"}}) {
    const std::string folder = file + ".folder";
    const Outcome written = weft("convert " + file + " --out " + folder);
    BOOST_TEST(written.code == 0, written.err);
    BOOST_TEST(contains(written.out, architecture));
  }
  const std::string text = " 'first then last 5'";
  BOOST_TEST(weft("classify " + classifier + ".folder" + text).out ==
             weft("classify " + classifier + text).out);
  BOOST_TEST(weft("fill " + model + ".folder 'the [MASK] sail'").out ==
             weft("fill " + model + " 'the [MASK] sail'").out);
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_pretraining_options) {
  const Files files;
  const auto fails = [&](const std::string& arguments, const std::string& part) {
    BOOST_TEST_CONTEXT(arguments) { check_error(files.train(arguments), 2, part); }
  };
  fails("--task nsp", "--task");
  fails("--task mlm+nsp --data " + files.weft.path("sms"),
        "--data is for --task mlm, rtd, classify, ");
  fails("--task mlm --generator-share 0.5", "--generator-share is for --task rtd");
  fails("--task mlm+sop --replaced-weight 5", "--replaced-weight is for --task rtd");
  fails("--task rtd" + kSmall + " --generator-share 1.5",
        "generator_share must be in (0, 1], not 1.5");
  fails("--task mlm+sop" + kSmall + " --token-types 1", "token_types must be at least 2, not 1");
  fails("--held-out validation", "--held-out requires --data");
  // With 40 documents, the validation set has only one document, so a random sentence cannot come
  // from another document.
  fails("--task mlm+nsp" + kSmall + " --validation-fraction 0.03",
        "the validation set: next-sentence pairs need at least two documents");
  BOOST_TEST(files.train("--task mlm" + kSmall).code == 0);
  const std::string resume = "--resume " + files.weft.path("m.weft");
  fails(resume + " --task rtd", "--task rtd cannot be given with --resume");
  fails(resume + " --whole-words", "--whole-words cannot be given with --resume");
  fails(resume + " --vocab 60",
        "--vocab cannot be given with --resume: its value is loaded from the file");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
