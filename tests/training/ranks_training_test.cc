// Training of every task on several ranks. Parameters, moments, history, metrics and the saved file
// are byte-identical to those of a single-rank run.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tiny_training.h"
#include "weft/core/error.h"
#include "weft/core/world/thread_world.h"
#include "weft/core/world/timed_transport.h"
#include "weft/models/training/adapters.h"
#include "weft/models/training/agreed_stop.h"
#include "weft/serialization/files/read_file.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(ranks_training)
namespace {

/// A variation of a task's default training run.
struct Variation {
  std::string name, options = {};
  /// Memory budget as a fraction of the memory that a shard needs; 0 means unlimited.
  double budget = 0;
  bool lora = false;
  bool together = false;  // every rank writes a part of the checkpoint
};

/// The number of ranks and the number of threads per rank.
struct RankLayout {
  int ranks, threads;
};

/// All combinations of ranks and threads that must give equal results.
const std::vector<RankLayout> kAllLayouts = {{1, 2}, {2, 1}, {2, 2}, {3, 1}, {3, 2}, {4, 1},
                                             {4, 2}, {5, 1}, {5, 2}, {8, 1}, {8, 2}};

/// Returns the next `count` combinations in round-robin order, or all combinations if
/// WEFT_RANKS_WAYS=all (set by ./run check ranks).
std::vector<RankLayout> next_layouts(int count) {
  const char* wish = std::getenv("WEFT_RANKS_WAYS");
  if (wish != nullptr && wish == std::string("all")) return kAllLayouts;
  static std::size_t next = 0;
  std::vector<RankLayout> ways;
  for (int i = 0; i < count; ++i) ways.push_back(kAllLayouts[next++ % kAllLayouts.size()]);
  return ways;
}

/// The results of a training run on one rank.
struct Trained {
  std::map<std::string, std::string> variables = {};  // bytes of each variable, by name
  std::string history = {}, figures = {}, report = {};
  std::int64_t step = 0;
  std::size_t ranks = 0;
};

constexpr const char* kShards8 = " --shards 8 --warmup 1 --seed 3 --lr 0.01";

std::string batch_of(const Task& task) {
  // Seq2seq batches are measured in tokens. 512 tokens are enough to give every shard a row.
  return task.info().family == "seq2seq" ? " --batch 512" : " --batch 8";
}

std::string bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.raw()), tensor.bytes()};
}

/// Returns the fraction `part` of the working memory that the largest shard of the first two steps
/// needs.
std::size_t budget_of(TaskRun& run, double part) {
  TrainedModel& model = run.model();
  Session session(*model.graph, model.store, session_options(model, {.threads = 1}));
  const TrainTask task = run.task(session);
  const std::int64_t shards = model.settings.shards;
  std::size_t arena = 0;
  for (std::int64_t i = 0; i < 2 * shards; ++i) {
    const NamedSizes sizes = sizes_of(task.batch(BatchPart(i / shards, i % shards, shards)).inputs);
    arena = std::max(arena, session.plan(model.program("train"), sizes)->memory().arena);
  }
  // The budget has a lower bound, because the optimizer step after the shards also needs working
  // memory.
  constexpr std::size_t kStep = 16'384;
  return std::max(kStep, static_cast<std::size_t>(part * static_cast<double>(arena)));
}

Trained train(const Task& task, const Variation& kind, const World& world, const std::string& path,
              int threads = 1, const std::atomic<bool>* stop = nullptr, std::int64_t steps = 2) {
  const LoraOptions lora{.rank = 2, .dropout = 0.1, .patterns = {"*"}};
  const std::string fraction =
      task.info().id == "text-classification" ? "" : " --validation-fraction 0.1";
  const auto run = tiny_run(task,
                            kind.options + kShards8 + batch_of(task) + fraction +
                                fmt::format(" --steps {} --eval-every 1 --eval-batches 2", steps),
                            kind.lora ? &lora : nullptr);
  TrainedModel& model = run->model();
  SessionOptions session_of =
      session_options(model, {.seed = model.settings.seed, .threads = threads, .world = world});
  if (kind.budget > 0) session_of.memory_budget = budget_of(*run, kind.budget);
  Session session(*model.graph, model.store, session_of);
  TrainTask work = run->task(session);
  if (kind.budget > 0) work.evaluate = {};  // an evaluation batch has more rows than a shard
  Trainer trainer(session, work,
                  {.settings = model.settings,
                   .save =
                       [&](const TrainHistory& history) {
                         model.history = history;
                         if (kind.together) return save_model_in_shards(path, model, session);
                         save_model(path, model);
                       },
                   .all_save = kind.together,
                   .stop = stop});
  const TrainOutcome outcome = trainer.run();
  Trained result{
      .history = trainer.history().to_json(), .step = outcome.step, .ranks = outcome.ranks.size()};
  session.gather_state();
  for (const std::string& name : model.store->names())
    result.variables[name] = bytes_of(model.store->tensor(name));
  result.figures = fmt::format("{:a}", outcome.evaluation.loss);
  for (const Metric& metric : outcome.evaluation.metrics)
    result.figures += fmt::format(" {} {:a}", metric.name, metric.value);
  if (!outcome.stopped && work.evaluate) result.report = run->report(session, outcome, "m").text;
  return result;
}

/// Trains on all ranks of a world and returns their results.
std::vector<Trained> train_on(const RankLayout& ways, const Task& task, const Variation& kind,
                              const std::string& path) {
  std::vector<Trained> all(static_cast<std::size_t>(ways.ranks));
  ThreadWorld world(ways.ranks, {.seed = static_cast<std::uint64_t>(ways.ranks), .max_delay = {}});
  world.run([&](const std::shared_ptr<Transport>& end) {
    all[static_cast<std::size_t>(end->rank())] = train(task, kind, World(end), path, ways.threads);
  });
  return all;
}

void check_same(const Trained& found, const Trained& expected) {
  BOOST_TEST(found.history == expected.history);
  BOOST_TEST(found.figures == expected.figures);
  BOOST_TEST(found.report == expected.report);
  BOOST_TEST(found.variables.size() == expected.variables.size());
  for (const auto& [name, bytes] : expected.variables) {
    const auto same = found.variables.find(name);
    BOOST_TEST((same != found.variables.end() && same->second == bytes), name);
  }
}

void check_ranks(const Task& task, const Variation& kind, const std::vector<RankLayout>& all_ways) {
  const testing::TemporaryFolder folder("ranks");
  const Trained alone = train(task, kind, World(), folder.path("1.weft"));
  const std::string file = read_whole_file(folder.path("1.weft"));
  BOOST_TEST(alone.step == 2);
  for (const RankLayout& ways : all_ways) {
    BOOST_TEST_CONTEXT(ways.ranks << " ranks of " << ways.threads << " threads, " << kind.name) {
      const std::string path = folder.path("ranks.weft");
      for (const Trained& found : train_on(ways, task, kind, path)) {
        check_same(found, alone);
        // A single rank does not report per-rank statistics.
        BOOST_TEST(found.ranks == static_cast<std::size_t>(ways.ranks == 1 ? 0 : ways.ranks));
      }
      BOOST_TEST((read_whole_file(path) == file), "the saved file differs");
    }
  }
}

/// The dropout options of each model family.
const std::map<std::string, std::string> kDropout = {
    {"gpt", "--embedding-dropout 0.1 --attention-dropout 0.1 --residual-dropout 0.1"},
    {"encoder", "--hidden-dropout 0.1 --attention-dropout 0.1"},
    {"seq2seq", "--dropout 0.1 --attention-dropout 0.1"},
    {"vit", "--dropout 0.1 --attention-dropout 0.1"},
    {"swin", "--dropout 0.1 --attention-dropout 0.1 --drop-path 0.2"},
    {"speech", "--dropout 0.1 --attention-dropout 0.1"},
    {"image-text", "--text-hidden-dropout 0.1 --vision-dropout 0.1"},
    {"network", ""},
};

const std::vector<Variation> kVariations = {
    {"clipping and averages", "--clip 0.05 --ema 0.9"},
    {"adapters", "", 0, true},
    {"Adafactor", "--optimizer adafactor --skip-nonfinite 2"},
    {"medium precision", "--precision medium --optimizer lion --schedule linear"},
    {"high precision", "--precision high --optimizer sgd"},
    {"AdaGrad", "--optimizer adagrad"},
    {"a memory budget", "", 0.9},
};

}  // namespace

BOOST_AUTO_TEST_CASE(every_task_trains_identically_on_several_ranks) {
  for (const Task* task : all_tasks()) {
    BOOST_TEST_CONTEXT("task " << task->info().id) {
      check_ranks(*task, {"as usual", kDropout.at(task->info().family)}, next_layouts(3));
    }
  }
}

BOOST_AUTO_TEST_CASE(training_with_any_options_is_identical_across_ranks) {
  for (const char* id : {"next-token", "mlm", "translation", "image-classification"}) {
    const Task& task = *find_task(id);
    BOOST_TEST_CONTEXT("task " << id) {
      for (Variation kind : kVariations) {
        kind.options += " " + kDropout.at(task.info().family);
        check_ranks(task, kind, next_layouts(1));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(ranks_that_save_in_shards_write_the_same_file_as_a_single_rank) {
  for (const char* id : {"next-token", "mlm", "translation", "image-classification"}) {
    const Task& task = *find_task(id);
    const std::string options = kDropout.at(task.info().family) + " --ema 0.9";
    const testing::TemporaryFolder folder("ranks");
    const std::string path = folder.path("m.weft"), one = folder.path("one.weft");
    const Trained alone = train(task, {"alone", options}, World(), one);
    const std::string file = read_whole_file(one);
    for (const int ranks : {1, 2, 3}) {
      BOOST_TEST_CONTEXT("task " << id << ", " << ranks << " ranks") {
        const Variation kind{.name = "together", .options = options, .together = true};
        for (const Trained& found : train_on({ranks, 1}, task, kind, path))
          check_same(found, alone);
        save_model(one, *load_any_model(path).model);
        BOOST_TEST((read_whole_file(one) == file), "the saved model differs");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_stop_request_on_one_rank_stops_all_ranks_at_the_same_step) {
  const testing::TemporaryFolder folder("ranks");
  const Task& task = *find_task("next-token");
  std::vector<Trained> all(3);
  ThreadWorld world(3, {.seed = 1});
  world.run([&](const std::shared_ptr<Transport>& end) {
    const std::atomic<bool> stop{end->rank() == 1};
    const auto rank = static_cast<std::size_t>(end->rank());
    all[rank] = train(task, {"stop"}, World(end), folder.path("m.weft"), 1, &stop, 50);
  });
  for (const Trained& found : all) BOOST_TEST(found.step == 0);
  BOOST_TEST(load_any_model(folder.path("m.weft")).model->history.train.empty());
}

BOOST_AUTO_TEST_CASE(ranks_agree_on_a_stop_one_step_after_the_request) {
  for (const int ranks : {1, 2, 3, 8}) {
    std::vector<int> stopped(static_cast<std::size_t>(ranks), -1);
    ThreadWorld world(ranks, {.seed = 7});
    world.run([&](const std::shared_ptr<Transport>& end) {
      AgreedStop agreed{World(end)};
      if (agreed.begin(false)) return;
      int step = 1;
      while (!agreed.after_step(step >= 4 && end->rank() == end->size() - 1)) ++step;
      agreed.end();
      stopped[static_cast<std::size_t>(end->rank())] = step;
    });
    for (const int step : stopped) BOOST_TEST(step == (ranks == 1 ? 4 : 5));
  }
}

BOOST_AUTO_TEST_CASE(a_failed_save_on_one_rank_stops_the_run_on_all_ranks) {
  const Task& task = *find_task("next-token");
  ThreadWorld world(2);
  std::vector<std::string> errors(2);
  const testing::TemporaryFolder folder("ranks");
  world.run([&](const std::shared_ptr<Transport>& end) {
    try {
      train(task, {"no folder"}, World(end), folder.path("none/m.weft"));
    } catch (const Error& e) {
      errors[static_cast<std::size_t>(end->rank())] = e.what();
    }
  });
  BOOST_TEST_CONTEXT(errors[0] << "\n" << errors[1]) {
    BOOST_TEST(contains(errors[0], "none/m.weft"));
    BOOST_TEST(contains(errors[1], "rank 0 (host thread-0): " + errors[0]));
  }
}

BOOST_AUTO_TEST_CASE(rank_waiting_times_are_measured) {
  ThreadWorld world(2);
  std::vector<double> waited(2);
  world.run([&](const std::shared_ptr<Transport>& end) {
    const World ranks(std::make_shared<TimedTransport>(end));
    if (ranks.first()) std::this_thread::sleep_for(std::chrono::milliseconds(60));
    ranks.barrier();
    waited[static_cast<std::size_t>(ranks.rank())] = seconds_waited(ranks);
  });
  BOOST_TEST(waited[1] > 0.04);
  BOOST_TEST(waited[0] < waited[1]);
  BOOST_TEST(seconds_waited(World()) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
