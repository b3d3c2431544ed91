#include "weft/models/training/prefetch.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/training/training_step.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(prefetch)
namespace {

using Numbers = std::vector<std::int64_t>;

/// Trains the model (x w)^2 and records which batches were built, and by which threads.
struct Small {
  explicit Small(TrainSettings s) : settings(s) {
    const Value x = graph.input("x", DType::f32, {"batch"});
    const Variable w = graph.variable("w", DType::f32, {}, {.initializer = Initializer::ones()});
    add_training_step(train, shard_mean(mean(square(x * w))), s);
    session.emplace(graph, SessionOptions{.seed = 1, .threads = 1});
  }

  TrainBatch batch(const BatchPart& part) {
    const std::int64_t n = part.step() * part.shards() + part.shard();
    const Inside inside(*this);
    {
      const std::lock_guard lock(mutex);
      made.push_back(n);
      makers.push_back(std::this_thread::get_id());
    }
    if (n == breaks_at) throw DataError("the file ends");
    const float value = n == infinite_at ? std::numeric_limits<float>::infinity()
                                         : 0.1F + 0.01F * static_cast<float>(n * n % 7);
    return {{{n == misnamed_at ? "y" : "x", Tensor::full(DType::f32, {1}, value)}}, 1};
  }
  TrainTask task() {
    return {.train = &train, .batch = [this](const BatchPart& part) { return batch(part); }};
  }
  TrainOutcome run(std::int64_t stop_after = 0) {
    Trainer trainer(*session, task(), {.settings = settings, .stop_after = stop_after});
    struct AtEnd {
      Small* small;
      Trainer* trainer;
      ~AtEnd() { small->history = trainer->history().train; }
    } at_end{this, &trainer};
    return trainer.run();
  }
  std::int64_t steps_done() { return session->value(kStepVariable).item<std::int64_t>(); }

  /// Counts the batch() calls that are in progress.
  struct Inside {
    explicit Inside(Small& s) : small(s) {
      if (++small.inside > 1) small.two_at_once = true;
    }
    ~Inside() { --small.inside; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    Small& small;
  };

  TrainSettings settings;
  Graph graph;
  Program train{"train"};
  std::optional<Session> session;
  std::int64_t breaks_at = -1, misnamed_at = -1, infinite_at = -1;
  std::mutex mutex;
  Numbers made;
  std::vector<std::thread::id> makers;
  std::atomic<int> inside = 0;
  std::atomic<bool> two_at_once = false;
  TrainHistory::Points history;
};

TrainSettings settings(std::int64_t steps, std::int64_t shards = 1) {
  return {.steps = steps, .shards = shards, .lr = 0.01, .warmup = 0, .eval_every = 0};
}

Numbers counted(std::int64_t count) {
  Numbers numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

using testing::says_exactly;

}  // namespace

BOOST_AUTO_TEST_CASE(prefetching_does_not_change_the_losses) {
  for (const std::int64_t shards : {1, 4}) {
    Small ahead(settings(6, shards)), line(settings(6, shards));
    ahead.run();
    line.session->initialise();
    TrainHistory::Points losses;
    for (std::int64_t step = 1; step <= 6; ++step) {
      const Results results = line.session->run_shards(line.train, [&](int shard) {
        return line.batch({step - 1, shard, shards}).inputs;
      });
      losses.emplace_back(step, results["loss"].item<float>());
    }
    BOOST_TEST((ahead.history == losses));
    BOOST_TEST((ahead.made == line.made));
  }
}

BOOST_AUTO_TEST_CASE(every_batch_is_prefetched_once_and_in_order_up_to_the_last_one) {
  for (const std::int64_t shards : {1, 2}) {
    Small small(settings(4, shards));
    small.run();
    BOOST_TEST((small.made == counted(4 * shards)));
    BOOST_TEST(!small.two_at_once);
    BOOST_TEST((small.makers[0] == std::this_thread::get_id()));
    for (std::size_t i = 1; i < small.makers.size(); ++i) {
      BOOST_TEST((small.makers[i] != std::this_thread::get_id()));
      BOOST_TEST((small.makers[i] == small.makers[1]));
    }
    Small stopped(settings(4, shards));
    stopped.run(2);
    BOOST_TEST((stopped.made == counted(2 * shards)));
    stopped.run();  // continues the stopped run
    BOOST_TEST((stopped.made == counted(4 * shards)));
  }
}

BOOST_AUTO_TEST_CASE(a_skipped_step_consumes_a_batch_even_at_the_last_step) {
  TrainSettings skipping = settings(4);
  skipping.skip_nonfinite = 1;
  for (const std::int64_t bad : {1, 3}) {
    Small small(skipping);
    small.infinite_at = bad;
    BOOST_TEST(small.run().skipped == 1);
    BOOST_TEST((small.made == counted(5)));
  }
}

BOOST_AUTO_TEST_CASE(an_error_in_a_batch_is_reported_at_its_step) {
  for (const std::int64_t shards : {1, 2}) {
    for (const std::int64_t step : {1, 3}) {
      Small small(settings(6, shards));
      small.breaks_at = step * shards - 1;
      BOOST_CHECK_EXCEPTION(small.run(), DataError,
                            says_exactly("step " + std::to_string(step) + ": " +
                                         (shards > 1 ? "shard 1 of 2: " : "") + "the file ends"));
      BOOST_TEST(small.steps_done() == step - 1);
      BOOST_TEST(small.history.size() == static_cast<std::size_t>(step - 1));
    }
  }
}

BOOST_AUTO_TEST_CASE(errors_in_unused_batches_are_ignored) {
  Small small(settings(6));
  small.breaks_at = 3;
  BOOST_TEST(small.run(3).stopped);
  const TrainTask task = small.task();
  std::atomic<int> calls{0};
  const std::function<TrainBatch(const BatchPart&)> make = [&](const BatchPart& part) {
    ++calls;
    return task.batch(part);
  };
  BatchPrefetcher batches(make);
  BOOST_TEST(batches.take(2, 0, true).items == 1);
  while (calls < 2) std::this_thread::yield();  // wait until the prefetch of step 3 has begun
  BOOST_TEST(batches.take(5, 0, true).items == 1);
  BOOST_TEST(batches.take(6, 0, false).items == 1);
}

BOOST_AUTO_TEST_CASE(a_range_of_shards_is_built_in_the_order_of_use) {
  Small small(settings(6, 4));
  const TrainTask task = small.task();
  {
    BatchPrefetcher batches(task.batch, 4, {1, 3});
    for (const std::int64_t step : {0, 1, 2}) {
      for (const int shard : {1, 2}) batches.take(step, shard, step < 2);
    }
  }
  BOOST_TEST((small.made == Numbers{1, 2, 5, 6, 9, 10}));
}

BOOST_AUTO_TEST_CASE(a_program_with_a_different_number_of_shards_is_rejected) {
  Small small(settings(6, 4));
  small.settings.shards = 2;
  BOOST_CHECK_EXCEPTION(
      small.run(), ArgumentError,
      says_exactly("shards: the program's training step was built with 4 shards, but the settings "
                   "specify 2; the number is fixed when the step is built"));
}

BOOST_AUTO_TEST_CASE(no_batch_is_in_progress_after_a_failed_run) {
  for (std::int64_t step = 0; step < 5; ++step) {
    Small small(settings(6));
    small.misnamed_at = step;
    BOOST_CHECK_THROW(small.run(), Error);
    BOOST_TEST(small.inside == 0);
    BOOST_TEST(small.steps_done() == step);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
