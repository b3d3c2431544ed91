// Features shared by all `weft train` commands: best model, patience, fine-tuning from a file.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>

#include "weft/models/tasks/next_token/language_model.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(train_command)
namespace {

const std::string kTiny =
    " --layers 1 --heads 2 --width 16 --context 16 --batch 4 --warmup 2 --lr 0.02 --steps 40"
    " --eval-every 5 --eval-batches 3 --threads 2";

/// Writes a text whose last tenth, the validation set, differs from the rest, so that the
/// validation loss soon rises.
std::string write_text(const Shell& weft) {
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += "all work and no play makes jack a dull boy " + std::to_string(i % 7) + "\n";
  for (int i = 0; i < 20; ++i) text += "yob llud a kcaj sekam yalp on dna krow lla 1\n";
  return " --text " + weft.write("turned.txt", text);
}

std::string line_with(const std::string& out, const std::string& start) {
  const std::size_t at = ("\n" + out).find("\n" + start);
  if (at == std::string::npos) return "no line '" + start + "' in " + out;
  return out.substr(at, out.find('\n', at) - at);
}

BOOST_AUTO_TEST_CASE(the_best_model_is_saved_and_reported) {
  const Shell weft;
  const std::string text = write_text(weft), model = weft.path("m.weft"),
                    best = weft.path("best.weft"), other = weft.path("other.weft"),
                    kept = weft.path("kept.weft");
  const std::string start = "train gpt" + text + kTiny;
  const Outcome trained = weft(start + " --out " + model + " --best " + best);
  BOOST_TEST_CONTEXT(trained.out + trained.err) {
    BOOST_TEST_REQUIRE(trained.code == 0);
    BOOST_TEST(contains(trained.out, "best so far: step 5, validation loss "));
    BOOST_TEST(!contains(trained.out, "best so far: step 20"));
    BOOST_TEST(contains(trained.out, "step 40  validation loss "));
    const auto lines_with = [&](const std::string& start) {
      int count = 0;
      for (std::size_t at = 0; (at = trained.out.find("\n" + start, at)) != std::string::npos; ++at)
        ++count;
      return count;
    };
    BOOST_TEST(lines_with("step 40  validation loss ") == 2);  // a partial and a full evaluation
    BOOST_TEST(lines_with("  | ") == 8);                       // one sample for each evaluated step
    BOOST_TEST(contains(line_with(trained.out, "best      "), "over up to 3 held-out batches"));
    BOOST_TEST(contains(line_with(trained.out, "best      "), ": " + best + " ("));
    BOOST_TEST(last_line(trained.out).starts_with("validation loss "));
  }
  const std::string found = line_with(trained.out, "best      step ");
  const TrainHistory history = load_model<LanguageModel>(best).history;
  BOOST_TEST(found.starts_with(fmt::format("best      step {}, validation loss {:.4f} over",
                                           history.validation.back().first,
                                           history.validation.back().second)));
  BOOST_TEST(history.validation.back().first < 20);
  // The best model also has a lower loss than the last model on the complete validation set.
  const auto loss = [&](const std::string& file) {
    const std::string out = last_line(weft("evaluate " + file + text).out);
    return std::stod(out.substr(std::string("validation loss ").size()));
  };
  BOOST_TEST(loss(best) < loss(model) - 0.5);

  // A run that is stopped and resumed in another process finds the same best model and does not
  // write it again.
  const std::string names = " --out " + other + " --best " + kept;
  const Outcome stopped = weft(start + names + " --stop-after 22");
  BOOST_TEST(contains(last_line(stopped.out), "--resume " + other + names));
  const auto written = std::filesystem::last_write_time(kept);
  const Outcome resumed = weft("train gpt --resume " + other + text + names);
  BOOST_TEST(resumed.code == 0);
  BOOST_TEST(contains(line_with(resumed.out, "best      so far: step "), ", saved in " + kept));
  const auto figures = [](const std::string& line) { return line.substr(0, line.find(':')); };
  BOOST_TEST(figures(line_with(resumed.out, "best      step ")) == figures(found));
  BOOST_TEST((std::filesystem::last_write_time(kept) == written));
  BOOST_TEST(last_line(resumed.out) == last_line(trained.out));
  BOOST_TEST(loss(kept) == loss(best));

  // If the first part of a run did not use --best, its best model is not available.
  const std::string late = weft.path("late.weft");
  BOOST_TEST(weft(start + " --out " + other + " --stop-after 22").code == 0);
  const Outcome missed = weft("train gpt --resume " + other + text + " --best " + late);
  BOOST_TEST(contains(missed.out,
                      "not saved in " + late + ", which will be written at the next improvement"));
  BOOST_TEST(contains(missed.out, "before the run was resumed: that model is not in " + late));
  BOOST_TEST(!std::filesystem::exists(late));
  // A run that was stopped before the first evaluation has no best model.
  BOOST_TEST(contains(weft(start + " --out " + other + " --best " + late + " --stop-after 2").out,
                      late + " was not written: there has been no evaluation yet"));
}

BOOST_AUTO_TEST_CASE(a_note_explains_that_evaluations_over_different_batches_are_not_compared) {
  const Shell weft;
  const std::string text = write_text(weft), model = weft.path("m.weft"),
                    best = weft.path("best.weft"), next = weft.path("next.weft");
  BOOST_TEST(
      weft("train gpt" + text + kTiny + " --out " + model + " --best " + best + " --stop-after 12")
          .code == 0);
  const std::string resume = "train gpt --resume " + model + text + " --eval-batches 0";
  check_error(weft(resume + " --best " + best), 2,
              "best.weft would be replaced without a comparison: the earlier evaluations of this "
              "run did not use the whole split; name another file");
  const Outcome other = weft(resume + " --best " + next);
  BOOST_TEST(other.code == 0);
  BOOST_TEST(contains(
      other.out,
      "compared  only evaluations over the whole split; the earlier evaluations do not count"));
  BOOST_TEST(contains(other.out, "best so far: step 15"));
  BOOST_TEST(contains(line_with(other.out, "best      step "), "over the whole split: " + next));
}

BOOST_AUTO_TEST_CASE(patience_stops_a_run_with_rising_validation_loss) {
  const Shell weft;
  const std::string text = write_text(weft), model = weft.path("m.weft"),
                    best = weft.path("best.weft");
  const Outcome ended =
      weft("train gpt" + text + kTiny + " --out " + model + " --best " + best + " --patience 2");
  BOOST_TEST_CONTEXT(ended.out + ended.err) {
    BOOST_TEST(ended.code == 0);
    BOOST_TEST(contains(ended.out, ", patience 2, seed"));
    const std::string line = line_with(ended.out, "patience  ");
    BOOST_TEST(
        contains(line, " of 40: no improvement in 2 consecutive evaluations; continue with: "));
    BOOST_TEST(line.ends_with("--resume " + model + " --out " + model + " --best " + best +
                              " --patience 4"));
    BOOST_TEST(!contains(ended.out, "stopped "));
    BOOST_TEST(!contains(ended.out, "step 40/40"));
    BOOST_TEST(last_line(ended.out).starts_with("validation loss "));
  }
  // If the run is resumed with the same patience, it stops immediately; without a patience limit,
  // it continues.
  const std::string resume = "train gpt --resume " + model + text;
  const Outcome again = weft(resume);
  BOOST_TEST(again.code == 0);
  BOOST_TEST(last_line(again.out) == last_line(ended.out));
  const Outcome more = weft(resume + " --patience 0");
  BOOST_TEST(more.code == 0);
  BOOST_TEST(contains(more.out, "step 40/40"));
}

BOOST_AUTO_TEST_CASE(errors_explain_the_limits_of_best_and_patience) {
  const Shell weft;
  const std::string text = write_text(weft), out = " --out " + weft.path("m.weft"),
                    start = "train gpt" + text + out + kTiny, none = " --validation-fraction 0";
  check_error(weft(start + none + " --best " + weft.path("b.weft")), 2,
              "--best needs held-out data to compare models, but this run has none");
  check_error(weft(start + none + " --patience 2"), 2, "patience requires held-out data");
  check_error(weft(start + " --patience -1"), 2, "patience must be at least 0, not -1");
  check_error(weft("train gpt" + text + out + " --patience 2 --eval-every 0"), 2,
              "patience counts periodic evaluations: eval_every must be at least 1");
  for (const char* name : {"m.weft", "./m.weft"})
    check_error(weft(start + " --best " + weft.path(name)), 2,
                "are the same file: give them different names");
  check_error(weft(start + " --best " + weft.path("m.safe")), 2, "m.safe needs a different name: ");
  check_error(weft(start + " --best /nowhere/b.weft"), 1,
              "cannot write /nowhere/b.weft: there is no folder /nowhere");
  check_error(weft("train gpt --out /nowhere/m.weft" + text), 1, "there is no folder /nowhere");
}

BOOST_AUTO_TEST_CASE(fine_tuning_uses_only_the_training_settings_of_a_preset) {
  const Shell weft;
  const std::string text = write_text(weft), base = weft.path("base.weft");
  BOOST_TEST(weft("train gpt" + text + kTiny + " --stop-after 1 --out " + base).code == 0);
  const std::string from =
      "train gpt" + text + " --from " + base + " --stop-after 1 --out " + weft.path("m.weft");
  const Outcome preset = weft(from + " --preset nanogpt-cpu");
  BOOST_TEST(preset.code == 0);
  BOOST_TEST(contains(preset.out, "from      " + base + ": 9 parameters loaded\n"));
  BOOST_TEST(contains(preset.out, "settings  training settings of preset nanogpt-cpu\n"));
  BOOST_TEST(contains(preset.out, "1 layers, 2 heads, width 16"));
  BOOST_TEST(contains(preset.out, "2,000 steps of 12 x 16 characters"));
  BOOST_TEST(contains(weft(from).out, "settings  training settings of preset char-small\n"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
