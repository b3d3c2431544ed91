// Runs that are stopped at any step and resumed write the same files, byte for byte, as
// uninterrupted runs. This is tested with the program `weft` for every task.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>

#include "task_shell.h"
#include "weft/serialization/files/read_file.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(resumed_files)
namespace {

/// Returns dropout options. Dropout adds random keys to the middle of the graph, which must be
/// restored exactly.
std::string dropout_of(const std::string& family) {
  if (family == "network") return "";
  if (family == "gpt") return " --residual-dropout 0.1 --embedding-dropout 0.1";
  if (family == "image-text") return " --text-hidden-dropout 0.1 --vision-dropout 0.1";
  return family == "encoder" ? " --hidden-dropout 0.1 --attention-dropout 0.1"
                             : " --dropout 0.1 --attention-dropout 0.1";
}

/// Compares stopped and resumed runs with uninterrupted runs. `start` starts a training run with
/// the given options.
void check_stops(const TaskShell& weft, const std::string& more,
                 const std::function<Outcome(const std::string&)>& start) {
  const auto bytes = [&](const std::string& name) { return read_whole_file(weft.path(name)); };
  const auto train = [&](const std::string& name, const std::string& options) {
    check_success(start(more + options + " --out " + weft.path(name + ".weft")), options);
  };
  train("whole", "");
  for (const int stop : {1, 3}) {  // the run has four steps
    train("stopped", fmt::format(" --stop-after {}", stop));
    check_success(weft.train("--resume " + weft.path("stopped.weft")), "resumed run");
    BOOST_TEST((bytes("stopped.weft") == bytes("whole.weft")),
               "file of the run stopped after step " << stop);
    if (!contains(more, "--ema")) continue;
    BOOST_TEST((bytes("stopped.ema.weft") == bytes("whole.ema.weft")),
               "file of the averaged weights");
  }
  // Resuming a finished run saves the same model again without training.
  check_success(weft.train("--resume " + weft.path("stopped.weft")), "resumed finished run");
  BOOST_TEST((bytes("stopped.weft") == bytes("whole.weft")), "file saved again after the end");
}

void check_stops(const Task& task, const std::string& more) {
  const TaskShell weft(task);
  check_stops(weft, more, [&](const std::string& options) { return weft.train_new(options); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(resumed_runs_of_every_task_write_identical_files) {
  for (const Task* task : all_tasks()) {
    BOOST_TEST_CONTEXT("task " << task->info().id) {
      check_stops(*task, dropout_of(task->info().family));
    }
  }
}

BOOST_AUTO_TEST_CASE(resumed_runs_with_various_training_options_write_identical_files) {
  for (const char* id : {"next-token", "mlm", "translation", "image-classification"}) {
    const Task& task = *find_task(id);
    for (const char* kind : {" --shards 2 --ema 0.9 --optimizer lion --save-every 1",
                             " --optimizer adafactor --skip-nonfinite 2 --precision high"}) {
      BOOST_TEST_CONTEXT("task " << id << kind) {
        check_stops(task, dropout_of(task.info().family) + kind);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(resumed_adapter_runs_write_identical_files) {
  for (const char* id : {"next-token", "mlm", "translation", "image-classification"}) {
    const TaskShell weft(*find_task(id));
    const std::string base = weft.path("base.weft"), small = weft.path("small.weft");
    check_success(weft.train_new("--out " + base), "weights");
    check_success(weft.with_data("quantize " + base + " --out " + small), "int8 weights");
    for (const std::string& from : {base, small}) {
      BOOST_TEST_CONTEXT("task " << id << ", adapters on " << from) {
        check_stops(weft, " --lora-rank 2 --lora-dropout 0.1 --from " + from,
                    [&](const std::string& options) {
                      return weft.train(weft.short_settings() + options);
                    });
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
