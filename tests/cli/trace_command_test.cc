// Timelines of commands (--trace).
#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "command_files.h"
#include "weft/tests/support/timeline.h"

namespace weft::program {
BOOST_AUTO_TEST_SUITE(trace_command)
namespace {

using testing::Timeline;

BOOST_AUTO_TEST_CASE(training_writes_the_chosen_steps) {
  const CommandFiles weft;
  const std::string train = with(weft.base("train gpt"), "--steps", "5") + " --out m.weft";
  weft.run(train + " --trace all.json --trace-steps 1-5");
  weft.run(train + " --trace some.json");
  const Timeline all(weft.read("all.json")), some(weft.read("some.json"));
  const auto steps = [](const Timeline& timeline) {
    std::vector<std::string> names;
    for (const testing::TimelineSlice& slice : timeline.named("steps")) {
      if (slice.name != "wait for batch") names.push_back(slice.name);
    }
    return names;
  };
  BOOST_TEST(
      (steps(all) == std::vector<std::string>{"step 1", "step 2", "step 3", "step 4", "step 5"}));
  BOOST_TEST((steps(some) == std::vector<std::string>{"step 2", "step 3", "step 4"}));
  BOOST_TEST(testing::check_runs(all.named("session 1")) == 5);
  testing::check_workers(all, "session 1");
  // A resumed run traces the second to fourth step after the resumption.
  weft.run("train gpt --text text.txt --resume m.weft --steps 9 --trace more.json");
  BOOST_TEST((steps(Timeline(weft.read("more.json"))) ==
              std::vector<std::string>{"step 7", "step 8", "step 9"}));
  weft.check_rejected(
      "train gpt --text text.txt --resume m.weft --steps 10 --trace more.json "
      "--trace-steps 3-9",
      "--trace-steps has no effect: the run continues after step 9");
  // Every run is inside of the slice of its step.
  for (const testing::TimelineSlice& run : some.named("session 1")) {
    const auto& found = some.named("steps");
    BOOST_TEST(std::any_of(found.begin(), found.end(),
                           [&](const auto& step) { return step.contains(run); }));
  }
}

BOOST_AUTO_TEST_CASE(inference_writes_its_runs) {
  const CommandFiles weft;
  for (const char* command : {"generate", "translate", "run"}) {
    BOOST_TEST_CONTEXT(command) {
      const bool is_run = std::string(command) == "run";
      weft.run(weft.base(command) + " --trace t.json" + (is_run ? " --outputs o.safetensors" : ""));
      const Timeline timeline(weft.read("t.json"));
      const int runs = testing::check_runs(timeline.named("session 1"));
      BOOST_TEST((is_run ? runs == 1 : runs > 1));
      testing::check_workers(timeline, "session 1");
    }
  }
  weft.run(weft.base("generate") + " --trace one.json --trace-steps 2");
  BOOST_TEST(testing::check_runs(Timeline(weft.read("one.json")).named("session 1")) == 1);
}

BOOST_AUTO_TEST_CASE(steps_that_do_not_exist_are_errors) {
  const CommandFiles weft;
  const std::string train = weft.base("train gpt") + " --out m.weft --trace t.json --trace-steps ";
  weft.check_rejected(train + "3-4",
                      "--trace-steps has no effect: the run ends after 2 steps; choose steps with");
  weft.check_rejected(train + "4-3", "4-3 is not a range: the last step is before the first");
  weft.check_rejected(train + "0", "--trace-steps");
  weft.check_rejected(train + "2-x", "--trace-steps");
  weft.check_rejected(weft.base("generate") + " --trace-steps 2", "--trace-steps");
  weft.check_rejected(weft.base("generate") + " --trace folder/config.json",
                      "--trace folder/config.json already exists and is not a timeline written by "
                      "weft: name another file\n");
  const Outcome outcome = weft(weft.base("generate") + " --trace t.json --trace-steps 100");
  BOOST_TEST(outcome.code == 1);
  BOOST_TEST(outcome.err ==
             "weft: --trace: t.json was not written, because the command ended before step 100; "
             "choose earlier steps with --trace-steps\n");
  BOOST_TEST(!std::filesystem::exists(weft.path("t.json")));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::program
