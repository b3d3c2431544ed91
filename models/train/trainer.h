// The training loop: data in, steps, evaluations and checkpoints out.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "weft/graph/run/session.h"
#include "weft/models/train/settings.h"

namespace weft {

/// Inputs of one training step.
struct TrainBatch {
  NamedTensors inputs;
  std::int64_t items = 0;  // tokens or images in it: what speed is counted in
};

/// What a run of training feeds and measures.
struct TrainTask {
  /// A training step as add_training_step makes it; must outlive the Trainer.
  const Program* train = nullptr;
  /// Inputs of a step, counted from 0. Must be a function of `step` alone, so that a resumed run
  /// sees what an uninterrupted one does.
  std::function<TrainBatch(std::int64_t step)> batch;
  /// Measures on held-out data: all of it (`whole`), or as much as a look now and then may cost.
  /// Empty: there is none.
  std::function<Evaluation(bool whole)> evaluate = {};
  /// What `items` are.
  std::string unit = "tokens";
};

/// One step, just done.
struct StepReport {
  std::int64_t step = 0;   // steps completed, this one counted
  std::int64_t steps = 0;  // steps of the whole run
  double loss = 0;         // before the step
  double learning_rate = 0;
  double gradient_norm = 0;     // before clipping
  double items_per_second = 0;  // of the last steps, without evaluations
  std::string_view unit;        // what items are
  double seconds_left = 0;
};

/// Is told what happens. All calls come from the thread of run().
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_step(const StepReport&) {}
  /// `whole`: over all held-out data, not some batches of it.
  virtual void on_evaluation(std::int64_t /*step*/, const Evaluation&, bool /*whole*/) {}
  virtual void on_checkpoint(std::int64_t /*step*/) {}
};

struct TrainOutcome {
  std::int64_t step = 0;  // steps completed
  bool stopped = false;   // before all steps were done
  /// Over all held-out data; the loss is NaN if the run was stopped or there is none.
  Evaluation evaluation = {};
};

/// Trains a model in a Session. What a step computes is in its program; this loop only feeds it, so
/// that a run stopped anywhere and resumed from its checkpoint gives the same bits as one that was
/// not.
class Trainer {
 public:
  struct Options {
    TrainSettings settings = {};
    TrainHistory history = {};  // of an earlier run
    TrainObserver* observer = nullptr;
    /// Writes a checkpoint; may be empty. Called every save_every steps and at the end.
    std::function<void(const TrainHistory&)> save = {};
    /// Set by a signal handler, say: the run saves and ends after the step that is under way.
    const std::atomic<bool>* stop = nullptr;
    /// Ends as `stop` does once this many steps are completed; 0 = never.
    std::int64_t stop_after = 0;
  };

  /// The session must outlive the Trainer. Continues at the step that its variables are at.
  Trainer(Session& session, TrainTask task, Options options);

  /// Runs to the last step (or a stop). Throws DataError, after nothing more was saved, where the
  /// loss is no longer finite.
  TrainOutcome run();

  const TrainHistory& history() const { return options_.history; }

 private:
  bool stop_asked(std::int64_t step) const;
  void evaluate(std::int64_t step, bool whole);
  void save(std::int64_t step);

  Session& session_;
  TrainTask task_;
  Options options_;
  Evaluation last_;
};

}  // namespace weft
