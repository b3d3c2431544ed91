// Tests of the command line with diverging training runs and with model files that contain
// non-finite values.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <filesystem>
#include <string>

#include "weft/graph/run/nonfinite.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(divergence_command)
namespace {

const std::string kTiny =
    " --layers 1 --heads 2 --width 16 --context 16 --batch 2 --warmup 0 --eval-every 0 --threads 1";
/// Weight decay multiplies the matrices by about -1e6 in every step, so matrix products overflow
/// after a few steps.
const std::string kDiverging = " --lr 1000 --weight-decay 1000";

BOOST_AUTO_TEST_CASE(a_diverging_run_keeps_its_last_finite_checkpoint_and_prints_the_cause) {
  const Shell weft;
  const std::string text = " --text " + weft.path("text.txt"), model = weft.path("m.weft");
  const std::string start = "train gpt" + text + kTiny + kDiverging + " --out " + model;
  const Outcome saved = weft(start + " --steps 20 --save-every 1");
  check_error(saved, 1, "(--check-finite); the checkpoint");
  BOOST_TEST((contains(saved.err, "the loss is") || contains(saved.err, "the gradient norm is") ||
              contains(saved.err, "the parameter '")));
  const LanguageModel kept = load_model<LanguageModel>(model);
  BOOST_TEST(!first_nonfinite(*kept.store));
  const auto steps = static_cast<std::int64_t>(kept.history.train.size());
  BOOST_TEST(contains(saved.err, "the checkpoint of step " + std::to_string(steps) + " is kept"));

  // If a resumed run diverges, it does not overwrite the checkpoint from which it was resumed.
  const std::string before = read_whole_file(model);
  check_error(weft("train gpt" + text + " --resume " + model + " --out " + model), 1,
              "training has diverged");
  BOOST_TEST((read_whole_file(model) == before));

  // Divergence is also detected at the last step, for any number of steps, without held-out data.
  int failed = 0;
  for (std::int64_t last = 1; last <= steps + 2; ++last) {
    std::filesystem::remove(model);
    const Outcome ended =
        weft(start + " --validation-fraction 0 --save-every 0 --steps " + std::to_string(last));
    BOOST_TEST_CONTEXT(last << ended.out << ended.err) {
      BOOST_TEST(ended.code == (last <= steps ? 0 : 1));
      BOOST_TEST(std::filesystem::exists(model) == (ended.code == 0));
      if (ended.code == 0) BOOST_TEST(!first_nonfinite(*load_model<LanguageModel>(model).store));
    }
    failed += ended.code == 1 ? 1 : 0;
  }
  BOOST_TEST(failed == 2);
}

BOOST_AUTO_TEST_CASE(check_finite_reports_the_operation_that_produced_the_first_infinity) {
  const Shell weft;
  const std::string text = " --text " + weft.path("text.txt"), model = weft.path("m.weft");
  const std::string start = "train gpt" + text + kTiny + " --out " + model + " --check-finite";
  BOOST_TEST(weft(start + " --steps 2").code == 0);
  const Outcome ended = weft(start + kDiverging + " --steps 20 --save-every 1");
  check_error(ended, 1, "; the operands are finite");
  BOOST_TEST(contains(ended.err, "step "));
  BOOST_TEST(!first_nonfinite(*load_model<LanguageModel>(model).store));
  check_error(weft(start + " --skip-nonfinite 2"), 2,
              "--check-finite stops the run at the first NaN or infinity, but --skip-nonfinite");
}

BOOST_AUTO_TEST_CASE(nonfinite_steps_are_skipped_up_to_the_limit) {
  const Shell weft;
  const std::string text = " --text " + weft.path("text.txt"), model = weft.path("m.weft");
  const std::string start = "train gpt" + text + kTiny + " --out " + model;
  const Outcome ended = weft(start + kDiverging + " --steps 20 --skip-nonfinite 2 --save-every 1");
  check_error(ended, 1, "3 consecutive steps were not finite, but skip_nonfinite allows only 2");
  BOOST_TEST(contains(ended.out, "(1 of at most 2 in a row)\nskipped   step "));
  BOOST_TEST(contains(ended.out, "(2 of at most 2 in a row)\n"));
  BOOST_TEST(!contains(ended.out, "(3 of"));

  // A resumed run may change the limit, but it cannot enable skipping, which is built into the
  // training step.
  BOOST_TEST(weft(start + " --steps 2 --skip-nonfinite 2").code == 0);
  const std::string more = "train gpt" + text + " --resume " + model;
  BOOST_TEST(weft(more + " --steps 3 --skip-nonfinite 7").code == 0);
  BOOST_TEST(load_model<LanguageModel>(model).settings.skip_nonfinite == 7);
  BOOST_TEST(weft(start + " --steps 2").code == 0);
  check_error(weft(more + " --steps 3 --skip-nonfinite 1"), 2,
              "skip_nonfinite: the program's training step was built without it");
  check_error(weft(start + " --skip-nonfinite -1"), 2, "skip_nonfinite must be at least 0, not -1");
}

BOOST_AUTO_TEST_CASE(every_command_rejects_a_nonfinite_model) {
  const Shell weft;
  const std::string text = " --text " + weft.path("text.txt"), model = weft.path("m.weft"),
                    out = " --out " + weft.path("other.weft");
  BOOST_TEST(weft("train gpt" + text + kTiny + " --steps 2 --out " + model).code == 0);
  const std::string kLast = "transformer.ln_f.weight";
  LanguageModel spoilt = load_model<LanguageModel>(model);
  Tensor values = spoilt.store->tensor(kLast).clone();
  values.mutable_data<float>()[3] = NAN;
  spoilt.store->set(kLast, values);
  save_model(model, spoilt);
  for (const std::string& command : {
           "train gpt" + text + " --steps 4 --resume " + model + out,
           "train gpt" + text + " --from " + model + out,
           "quantize " + model + out,
           "evaluate " + model + text,
           "score " + model + " --continuation work",
           "verify " + model,
           "generate " + model + " --prompt work",
       }) {
    BOOST_TEST_CONTEXT(command) {
      check_error(weft(command), 1, model + ": the parameter '" + kLast + "' is nan at [3]");
    }
  }
  BOOST_TEST(!std::filesystem::exists(weft.path("other.weft")));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
