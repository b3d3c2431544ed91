// Training on several ranks: consistency checks at the start, and failures that stop all ranks.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/world/thread_world.h"
#include "weft/graph/functions.h"
#include "weft/models/training/trainer.h"
#include "weft/models/training/training_step.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(trainer_ranks)
namespace {

// The initial state of one rank, and callbacks that inject errors.
struct Rank {
  TrainSettings settings{.steps = 6,
                         .batch = 8,
                         .shards = 4,
                         .lr = 0.1,
                         .min_lr = 0.1,
                         .warmup = 0,
                         .eval_every = 2,
                         .save_every = 3};
  std::uint64_t seed = 1;
  std::string data = "file 9ae3f102";
  double more = 0;        // added to the parameter
  std::int64_t step = 0;  // the step at which the resumed file was saved
  /// These callbacks are called with the step.
  std::function<void(std::int64_t)> batch, evaluate, save = [](std::int64_t) {};
};

void train(const World& world, const Rank& rank) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch"});
  const Variable w = g.variable("w", DType::f32, {}, {.initializer = Initializer::normal(1)});
  Program program("train");
  add_training_step(program, shard_mean(mean(x * w)), rank.settings);
  Session session(g, {.seed = rank.seed, .threads = 1, .world = world});
  if (rank.more != 0)
    session.set_value("w", Tensor::full(DType::f32, {}, session.value("w").at(0) + rank.more));
  if (rank.step != 0) session.set_value(kStepVariable, Tensor::scalar(DType::i64, 1.0 * rank.step));
  std::int64_t step = rank.step;
  struct Count : TrainObserver {
    explicit Count(std::int64_t& step) : step_(step) {}
    void on_step(const StepReport& r) override { step_ = r.step; }
    std::int64_t& step_;
  } count(step);
  TrainTask task{&program, [&](const BatchPart& part) {
                   if (rank.batch) rank.batch(part.step() + 1);
                   return TrainBatch{{{"x", Tensor::full(DType::f32, {2}, 1)}}, 2};
                 }};
  task.evaluate = [&](bool) {
    if (rank.evaluate) rank.evaluate(step);
    return Evaluation{.loss = 1};
  };
  Trainer(session, task,
          {.settings = rank.settings,
           .data = rank.data,
           .observer = &count,
           .save = [&](const TrainHistory&) { rank.save(step); }})
      .run();
}

// Returns the error message of each rank, or an empty string for success. `change` may modify the
// given rank.
std::vector<std::string> messages_of(ThreadWorld& world,
                                     const std::function<void(int rank, Rank&)>& change) {
  std::vector<std::string> lines(static_cast<std::size_t>(world.size()));
  world.run([&](const std::shared_ptr<Transport>& end) {
    Rank rank;
    change(end->rank(), rank);
    try {
      train(World(end), rank);
    } catch (const Error& e) {
      lines[static_cast<std::size_t>(end->rank())] = e.what();
    }
  });
  return lines;
}

// Runs two ranks, of which `change` modifies the second, and returns the error message that both
// ranks throw.
std::string message_with(const std::function<void(Rank&)>& change) {
  ThreadWorld world(2, {.seed = 2});
  const std::vector<std::string> lines = messages_of(world, [&](int rank, Rank& r) {
    if (rank == 1) change(r);
  });
  BOOST_TEST(lines[0] == lines[1]);
  return lines[0];
}

std::string differ(const std::string& what, const std::string& one, const std::string& other) {
  return "in " + what + ": rank 0 (host thread-0) has " + one + ", rank 1 (host thread-1) has " +
         other;
}

BOOST_AUTO_TEST_CASE(ranks_with_equal_initial_state_can_train) {
  BOOST_TEST(message_with([](Rank&) {}) == "");
}

BOOST_AUTO_TEST_CASE(ranks_with_different_initial_state_are_reported_before_the_first_step) {
  const auto found = [](const std::string& line, const std::string& part) {
    BOOST_TEST(line.starts_with("ranks differ in "), line);
    BOOST_TEST(line.find(part) != std::string::npos, line);
  };
  BOOST_TEST(message_with([](Rank& r) { r.data = ""; }) ==
             "ranks differ " + differ("the data (a fingerprint)", "file 9ae3f102", "nothing"));
  BOOST_TEST(message_with([](Rank& r) { r.step = 3; }) ==
             "ranks differ " + differ("the step", "0", "3"));
  BOOST_TEST(message_with([](Rank& r) { r.settings.save_every = 2; }) ==
             "ranks differ " + differ("the setting 'save_every'", "3", "2"));
  const std::string parameters = message_with([](Rank& r) { r.more = 1e-3; });
  BOOST_TEST(parameters.starts_with("ranks differ in the parameters (a checksum): rank 0 (host "
                                    "thread-0) has "),
             parameters);
  // One difference can cause others; all of them are reported.
  const std::string seed = message_with([](Rank& r) { r.seed = 2; });
  found(seed, differ("the seed", "1", "2") + "; in the parameters (a checksum): ");
  const std::string rate = message_with([](Rank& r) { r.settings.lr = 0.2; });
  found(rate, differ("the setting 'lr'", "0.1", "0.2"));
  found(rate, "in the program (its name, and a hash of its text): ");
  for (const int shards : {1, 8}) {
    found(message_with([&](Rank& r) { r.settings.shards = shards; }),
          differ("the number of shards", "4", std::to_string(shards)));
  }
}

// An error is thrown on one rank while the other ranks continue to the next step.
BOOST_AUTO_TEST_CASE(an_evaluation_or_save_error_on_one_rank_stops_all_ranks) {
  const auto check = [](int bad, const std::function<void(Rank&)>& change, const std::string& own) {
    ThreadWorld world(3, {.seed = 3});
    const std::vector<std::string> lines = messages_of(world, [&](int rank, Rank& r) {
      if (rank == bad) change(r);
    });
    for (int rank = 0; rank < 3; ++rank) {
      const std::string before =
          rank == bad ? "" : fmt::format("rank {} (host thread-{}): ", bad, bad);
      BOOST_TEST(lines[static_cast<std::size_t>(rank)] == before + own);
    }
  };
  const auto at_step_3 = [](std::int64_t step) {
    if (step >= 3) throw IoError("net.weft: No space left on device");
  };
  // The model is saved by rank 0.
  check(
      0, [&](Rank& r) { r.save = at_step_3; }, "net.weft: No space left on device");
  check(
      1, [&](Rank& r) { r.evaluate = at_step_3; }, "net.weft: No space left on device");
  check(
      1, [&](Rank& r) { r.batch = at_step_3; },
      "step 3: shard 1 of 4: net.weft: No space left on device");
}

BOOST_AUTO_TEST_CASE(a_lost_rank_is_reported_with_its_current_phase) {
  const auto check = [](int bad, const std::string& phase,
                        const std::function<void(Rank&, std::function<void(std::int64_t)>)>& set) {
    ThreadWorld world(2);
    const std::vector<std::string> lines = messages_of(world, [&](int rank, Rank& r) {
      if (rank != bad) return;
      set(r, [&](std::int64_t step) {
        if (step >= 3) world.kill(bad);
      });
    });
    const std::string lost =
        fmt::format("rank {} (host thread-{}) is lost; it was in {}, which ", bad, bad, phase);
    for (const std::string& line : lines) BOOST_TEST(line.starts_with(lost), line);
  };
  check(0, "step 3: saving", [](Rank& r, auto kill) { r.save = kill; });
  check(1, "step 4: evaluation", [](Rank& r, auto kill) { r.evaluate = kill; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
