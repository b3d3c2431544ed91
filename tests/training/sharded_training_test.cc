// Training runs with batches that are split into shards. The results match those of undivided
// batches up to rounding, and their bits depend only on the number of shards.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "task_shell.h"
#include "weft/testing/close.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(sharded_training)
namespace {

/// Options that disable dropout, so that a step is deterministic and depends smoothly on its
/// gradients.
const std::map<std::string, std::string> kSmooth = {
    {"gpt", "--embedding-dropout 0 --attention-dropout 0 --residual-dropout 0"},
    {"encoder", "--hidden-dropout 0 --attention-dropout 0"},
    {"seq2seq", "--dropout 0 --attention-dropout 0 --activation-dropout 0 --final-dropout 0"},
    {"vit", "--dropout 0 --attention-dropout 0"},
    {"swin", "--dropout 0 --attention-dropout 0 --drop-path 0"},
    {"speech", "--dropout 0 --attention-dropout 0 --activation-dropout 0"},
    {"image-text", "--text-hidden-dropout 0 --vision-dropout 0"},
    {"network", ""},
};

/// Returns a batch size that gives the same batches for 1, 2 and 4 shards. If the batch size of a
/// task is measured in tokens, a special value makes the number of rows divisible by 4.
std::string equal_batch(const TaskInfo& info) {
  if (info.family != "seq2seq") return {};
  return info.id == "translation" ? "100000" : "192";
}

std::unique_ptr<TrainedModel> trained(const TaskShell& weft, const std::string& name,
                                      const std::string& options,
                                      const TaskShell::Changes& changes = {}) {
  check_success(weft.train_new(options + " --out " + weft.path(name), changes), options);
  return load_any_model(weft.path(name)).model;
}

void check_same_training(const TrainedModel& found, const TrainedModel& expected) {
  for (const std::string& name : expected.store->names()) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(
          testing::expect_same_bits(found.store->tensor(name), expected.store->tensor(name)));
    }
  }
  BOOST_TEST((found.history.train == expected.history.train));
  BOOST_TEST((found.history.validation == expected.history.validation));
}

bool near(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

void check_equal_to_whole(const Task& task) {
  const TaskInfo& info = task.info();
  const TaskShell weft(task);
  std::string options = kSmooth.at(info.family) + " --optimizer sgd --beta1 0 --stop-after 3";
  // The generator samples tokens separately for each shard, so the weight of the replaced-token
  // loss must be negligible.
  if (info.id == "rtd") options += " --replaced-weight 0.0000001";
  // With a rate of 0.05, rows of embeddings move by ten times their initial size, and the norm
  // after a small row amplifies the rounding of its gradient.
  const TaskShell::Changes changes{.lr = "0.02", .batch = equal_batch(info)};
  const auto whole = trained(weft, "whole.weft", options, changes);
  BOOST_TEST(whole->program("train").shards().count == 1);
  BOOST_REQUIRE(whole->history.train.size() == 3U);
  for (const int shards : {2, 4}) {
    BOOST_TEST_CONTEXT(shards << " shards") {
      const auto sharded =
          trained(weft, "cut.weft", fmt::format("{} --shards {}", options, shards), changes);
      BOOST_TEST(sharded->program("train").shards().count == shards);
      BOOST_REQUIRE(sharded->history.train.size() == 3U);
      BOOST_TEST(near(sharded->history.train[0].second, whole->history.train[0].second, 1e-6));
      for (std::size_t i = 1; i < 3; ++i)
        BOOST_TEST(near(sharded->history.train[i].second, whole->history.train[i].second, 2e-5));
      for (const std::string& name : whole->store->names()) {
        if (whole->store->kind(name) != VariableKind::parameter) continue;
        BOOST_TEST_CONTEXT(name) {
          BOOST_TEST(testing::expect_close(sharded->store->tensor(name), whole->store->tensor(name),
                                           {.absolute = 2e-5, .relative = 2e-5}));
        }
      }
      // Evaluation masks tokens separately for each batch, so masked-language-model losses cannot
      // be compared between different numbers of shards.
      if (info.family == "encoder" && info.id.find("tion") == std::string::npos) continue;
      BOOST_REQUIRE(sharded->history.validation.size() == whole->history.validation.size());
      for (std::size_t i = 0; i < sharded->history.validation.size(); ++i) {
        BOOST_TEST(
            near(sharded->history.validation[i].second, whole->history.validation[i].second, 5e-5));
      }
    }
  }
}

/// Training options that are combined with shards.
struct Training {
  std::string task, options;
};
const Training kMixed[] = {
    {"next-token",
     "--embedding-dropout 0.1 --attention-dropout 0.1 --residual-dropout 0.1 --clip 0.1 "
     "--ema 0.9 --skip-nonfinite 2"},
    {"mlm+nsp", "--hidden-dropout 0.1 --attention-dropout 0.1 --optimizer adafactor"},
    {"rtd", "--hidden-dropout 0.1 --optimizer adam --schedule linear"},
    {"translation", "--dropout 0.1 --optimizer lion --label-smoothing 0.1 --precision medium"},
    {"image-classification",
     "--dropout 0.1 --optimizer sgd --schedule inverse_sqrt --precision high"},
};

}  // namespace

BOOST_AUTO_TEST_CASE(sharded_training_matches_undivided_batches_for_every_task) {
  for (const Task* task : all_tasks()) {
    BOOST_TEST_CONTEXT("task " << task->info().id) { check_equal_to_whole(*task); }
  }
}

BOOST_AUTO_TEST_CASE(sharded_runs_are_bit_exact_for_any_number_of_threads_and_when_resumed) {
  for (const Training& training : kMixed) {
    BOOST_TEST_CONTEXT(training.task) {
      const TaskShell weft(*find_task(training.task));
      const std::string options = training.options + " --shards 4";
      const auto whole = trained(weft, "whole.weft", options);
      check_same_training(*trained(weft, "two.weft", options, {.threads = 2}), *whole);
      check_same_training(*trained(weft, "budget.weft", options + " --memory-budget 200MB", {}),
                          *whole);
      trained(weft, "half.weft", options + " --stop-after 2");
      check_success(weft.train("--resume " + weft.path("half.weft")), "resumed run");
      check_same_training(*load_any_model(weft.path("half.weft")).model, *whole);
      // A different number of shards changes the random numbers and the order of summation.
      const auto other = trained(weft, "other.weft", training.options + " --shards 2");
      BOOST_TEST((other->history.train != whole->history.train));
    }
  }
}

BOOST_AUTO_TEST_CASE(sharded_adapter_runs_are_bit_exact_when_resumed) {
  const TaskShell weft(*find_task("next-token"));
  trained(weft, "base.weft", "");
  const std::string start = weft.short_settings() + " --shards 4 --lora-rank 2 --lora-dropout 0.1" +
                            " --from " + weft.path("base.weft") + " --out ";
  check_success(weft.train(start + weft.path("whole.weft")), "adapters");
  check_success(weft.train(start + weft.path("half.weft") + " --stop-after 2"), "stopped run");
  check_success(weft.train("--resume " + weft.path("half.weft")), "resumed run");
  const auto whole = load_any_model(weft.path("whole.weft")).model;
  BOOST_TEST(whole->program("train").shards().count == 4);
  check_same_training(*load_any_model(weft.path("half.weft")).model, *whole);
}

BOOST_AUTO_TEST_CASE(the_log_contains_the_shards_and_their_memory) {
  const TaskShell weft(*find_task("next-token"));
  const Outcome found =
      weft.train_new("--shards 4 --stop-after 1 --out " + weft.path("m.weft"), {.batch = "8"});
  check_success(found, "training run");
  BOOST_TEST_CONTEXT(found.out) {
    BOOST_TEST(found.out.find("4 steps of 8 x 16 characters in 4 shards, AdamW") !=
               std::string::npos);
    BOOST_TEST(found.out.find(" of working memory for a shard and ") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(invalid_shards_are_rejected) {
  const TaskShell weft(*find_task("next-token"));
  const auto refused = [&](const std::string& shards, const std::string& batch,
                           const std::string& part) {
    check_error(
        weft.train_new("--shards " + shards + " --out " + weft.path("m.weft"), {.batch = batch}), 2,
        part);
  };
  refused("3", "6", "shards must be a power of two in [1, 1048576], not 3");
  refused("8", "4", "shards must be at most 4, not 8");
  refused(
      "4", "6",
      "a batch of 6 rows cannot be split into 4 equal shards: the rows must be a multiple of 4");
  trained(weft, "m.weft", "--shards 2 --stop-after 1");
  check_error(weft.train("--shards 4 --resume " + weft.path("m.weft")), 2,
              "--shards cannot be given with --resume: the training step is loaded from the file");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
