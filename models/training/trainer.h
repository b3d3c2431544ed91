// The training loop: runs a training step on batches, evaluates, and writes checkpoints.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/data/batching/batch_part.h"
#include "weft/models/training/settings.h"

namespace WEFT_API weft {

/// The inputs for one run of a training program.
struct TrainBatch {
  NamedTensors inputs;
  std::int64_t items = 0;  // number of tokens or images; speed is reported in items per second
};

/// A training step, its batches, and its evaluation.
struct TrainTask {
  /// A training step made by add_training_step; must outlive the Trainer.
  const Program* train = nullptr;
  /// Returns the inputs for a batch or, if the program has shards, for one shard of a batch.
  /// Batches are numbered from 0; batches of skipped steps count. The result must depend only on
  /// `part`, so that a resumed run uses the same batches as an uninterrupted one. Batches are
  /// prefetched on another thread while a step runs. Calls to `batch` never overlap each other, but
  /// may overlap a call to `evaluate`.
  std::function<TrainBatch(const BatchPart& part)> batch = {};
  /// Evaluates the model on all held-out data if `whole` is true; otherwise on a part that is small
  /// enough for periodic evaluations. Empty if there is no held-out data.
  std::function<Evaluation(bool whole)> evaluate = {};
  /// The unit of `items`.
  std::string unit = "tokens";
};

/// Report on a completed step.
struct StepReport {
  std::int64_t step = 0;   // steps completed, including this one
  std::int64_t steps = 0;  // steps of the whole run
  double loss = 0;         // before the update
  double learning_rate = 0;
  double gradient_norm = 0;  // before clipping
  // Averages over the last steps. Waiting for batches is included; evaluations are not.
  double items_per_second = 0;
  std::string_view unit = {};  // unit of the items
  double seconds_left = 0;
};

/// Report on a skipped step (TrainSettings::skip_nonfinite).
struct SkipReport {
  std::int64_t step = 0;  // number that the step would have had
  /// The non-finite value, for example "the gradient norm is nan (the loss is 2.31)".
  std::string what = {};
  double loss = 0, gradient_norm = 0;
  /// Number of consecutive skipped steps, including this one, and the allowed maximum.
  std::int64_t in_a_row = 0, most = 0;
};

/// Observer of a training run. All functions are called on the thread that called run().
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  /// Called after a completed step.
  virtual void on_step(const StepReport&) {}
  /// Called after a step was skipped because it was not finite.
  virtual void on_skip(const SkipReport&) {}
  /// Called after an evaluation. `whole` is true if it covered all held-out data.
  virtual void on_evaluation(std::int64_t /*step*/, const Evaluation&, bool /*whole*/) {}
  /// Called after a checkpoint was saved.
  virtual void on_checkpoint(std::int64_t /*step*/) {}
  /// Called during a step of Trainer::Options::gradients_every, once for each trainable parameter.
  /// `gradient` is the gradient of the loss before clipping. It is valid until the call returns.
  virtual void on_gradient(std::int64_t /*step*/, const std::string& /*parameter*/,
                           const Tensor& /*gradient*/) {}
  /// Called after save_best. The loss is the lowest so far among the compared evaluations.
  virtual void on_best(std::int64_t /*step*/, double /*loss*/) {}
};

/// Speed of one rank during a run, excluding evaluations.
struct RankSpeed {
  double items_per_second = 0;  // items processed by this rank alone
  double waiting = 0;           // fraction of time spent waiting for other ranks (TimedTransport)
};

/// Result of a run.
struct TrainOutcome {
  std::int64_t step = 0;  // steps completed
  bool stopped = false;   // true if the run was stopped on request before its last step
  /// True if the run ended early after `patience` consecutive evaluations without a lower loss.
  bool out_of_patience = false;
  std::int64_t skipped = 0;  // skipped steps, including those of earlier runs
  /// Evaluation over all held-out data. The loss is NaN if the run was stopped or there is no
  /// held-out data.
  Evaluation evaluation = {};
  /// The best of the compared evaluations, including those in `history`. The loss is NaN if neither
  /// save_best nor patience is used.
  BestEvaluation best = {};
  /// Speed of each rank if the Session has a World with several ranks; otherwise empty.
  std::vector<RankSpeed> ranks = {};
};

/// Measures the average time per step over the last few steps, so that it adapts to changes in
/// machine speed. The first step, which includes planning, is ignored.
class StepClock {
 public:
  void begin();
  /// Returns the seconds since begin().
  double end();
  double seconds_per_step() const { return mean_; }

 private:
  std::chrono::steady_clock::time_point start_;
  double mean_ = 0;
  std::int64_t steps_ = 0;
};

/// Totals for this rank over all steps except the first, which includes planning.
struct RankClock {
  std::int64_t steps = 0, items = 0;
  double seconds = 0, waited = 0;
};

class AgreedStop;
class BatchPrefetcher;

/// Trains a model in a Session. Each step is computed entirely by its program; this loop only
/// supplies the inputs. A run that is stopped and resumed from its checkpoint is therefore
/// bit-identical to an uninterrupted one. One batch is prefetched on a thread that ends when run()
/// returns.
///
/// Two options deal with overfitting: save_best saves the best model, and `patience` stops the run
/// early. Both compare only validation losses over the same part of the held-out data
/// (TrainSettings::compared_batches), on which the final parameters are evaluated, too. Both
/// include the evaluations in `history`, so a resumed run finds the same best step as an
/// uninterrupted one.
///
/// If the Session has a World with several ranks, each rank runs its own Trainer with the same
/// settings on its own shards, and all ranks compute the same results and parameters. Before the
/// first step, the ranks compare their settings, data and parameters (training_handshake.h). Only
/// rank 0 saves, while the other ranks wait. The optimizer state is complete only during a save and
/// only in the store on rank 0; Session::gather_state() completes it on all ranks. With
/// Options::all_save, all ranks save together instead. Setting `stop` on any rank stops all ranks
/// at the same step. An exception on one rank aborts all ranks (WorldError).
///
/// If the session has a timeline (SessionOptions::trace), its steps are the training steps, which
/// include waiting for batches.
///
/// Only finite values are saved. If the loss or gradient norm of a step is not finite, the step is
/// skipped or the run ends (TrainSettings::skip_nonfinite). In addition, all parameters and moments
/// are checked before each save. A run that diverges therefore leaves the last good file unchanged.
class Trainer {
 public:
  struct Options {
    TrainSettings settings = {};
    TrainHistory history = {};  // history of the run that is resumed
    /// Fingerprint of the training data, which the ranks compare.
    std::string data = {};
    TrainObserver* observer = nullptr;
    /// Writes a checkpoint; may be empty. Called every save_every steps and at the end. With
    /// several ranks, `save` and `save_best` are called only on rank 0, but they must be set on all
    /// ranks or on none.
    std::function<void(const TrainHistory&)> save = {};
    /// If true, `save` and `save_best` are called on all ranks, without gathering the optimizer
    /// state first. For functions that write a file from all ranks together (save_model_in_shards).
    bool all_save = false;
    /// Writes the best model to a separate file; may be empty. Called after each compared
    /// evaluation that has the lowest loss so far. This evaluation is the last entry of the
    /// history.
    std::function<void(const TrainHistory&)> save_best = {};
    /// Stop flag, for example set by a signal handler. If it is true, the run saves and ends after
    /// the current step (with several ranks, after the next step).
    const std::atomic<bool>* stop = nullptr;
    /// Stops in the same way after this many completed steps; 0 = never.
    std::int64_t stop_after = 0;
    /// Passes the gradients to the observer in every step with a number that is a multiple of this;
    /// 0 = never. Such a step computes the same results, and its backward pass only once. The
    /// constructor adds nodes to the graph. Only for a single rank (ArgumentError), because ranks
    /// hold only parts of the sums of gradients.
    std::int64_t gradients_every = 0;
  };

  /// The session must outlive the Trainer. Training continues at the step stored in the session's
  /// variables. Throws ArgumentError if settings are invalid, if save_best or patience is set but
  /// the task has no held-out data, if the program was built for a different number of shards, or
  /// if skip_nonfinite is set but the program was built without it.
  Trainer(Session& session, TrainTask task, Options options);

  /// Trains until the last step, or until the run is stopped. If a value is not finite, throws a
  /// DataError that names the step and the value (the loss, the gradient norm or a parameter),
  /// without saving again. An exception from `batch` is rethrown at the step that uses the batch;
  /// if it is an Error, its message begins with the step number. Throws ArgumentError on all ranks
  /// if their settings, data or parameters differ.
  TrainOutcome run();

  const TrainHistory& history() const { return options_.history; }

 private:
  const World& world() const { return session_.options().world; }
  /// Reads the step counters from the variables, and checks that all ranks have the same initial
  /// state.
  void begin();
  TrainOutcome take_steps(AgreedStop& agreed);
  bool stop_requested() const { return options_.stop != nullptr && options_.stop->load(); }
  /// Returns true if the run was stopped, or if stop_after ends it after `step`.
  bool stops(std::int64_t step) const;
  bool tracks_best() const { return options_.save_best || options_.settings.patience > 0; }
  bool out_of_patience() const;
  /// Evaluates over `batches` held-out batches; 0 = all.
  void evaluate(std::int64_t step, std::int64_t batches);
  /// Runs the final evaluations: over compared_batches() if evaluations are compared, and over all
  /// held-out data.
  void evaluate_last(std::int64_t step);
  void save(std::int64_t step);
  /// Checks that all variables are finite, and saves. With all_save, all ranks save. Otherwise the
  /// optimizer state is gathered on rank 0, which saves while the other ranks wait.
  void write(std::int64_t step, const std::function<void(const TrainHistory&)>& save) const;
  /// Returns the total number of shards divided by the number of shards on this rank.
  double shard_ratio() const;
  std::vector<RankSpeed> speeds_of_ranks() const;
  /// Runs one step. Returns false if the step was skipped.
  bool take_step(BatchPrefetcher& batches);
  /// Runs a step's programs on its batch and adds the number of items in the batch to `items`.
  Results run_step(BatchPrefetcher& batches, std::int64_t& items);
  /// Makes observed_ from the training step.
  void add_gradient_outputs();
  /// Throws the DataError that ends a diverged run. `what` is the reason ("the loss is nan").
  [[noreturn]] void throw_diverged(const std::string& what, std::int64_t step) const;
  /// Throws the same exceptions as throw_diverged() if a variable that is about to be saved is not
  /// finite.
  void check_variables(std::int64_t step) const;

  Session& session_;
  TrainTask task_;
  Options options_;
  /// The training step with the gradients as additional outputs. Their names are the names of the
  /// parameters with a prefix.
  std::optional<Program> observed_;
  std::vector<std::string> gradient_outputs_;
  BestEvaluation best_;
  Evaluation last_;
  std::pair<std::int64_t, std::int64_t> last_at_{-1, 0};  // step and batches of last_
  std::int64_t step_ = 0;                                 // steps completed
  std::int64_t skipped_ = 0;                              // steps skipped, including earlier runs
  std::int64_t in_a_row_ = 0;  // steps skipped since the last completed step
  std::int64_t saved_ = -1;    // step of the last checkpoint
  bool stop_ = false;          // all ranks have agreed to stop
  StepClock clock_;
  RankClock rank_clock_;
};

}  // namespace weft
