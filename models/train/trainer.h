// The training loop: data in, steps, evaluations and checkpoints out.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/graph/run/session.h"
#include "weft/models/data/batch_part.h"
#include "weft/models/train/settings.h"

namespace WEFT_API weft {

/// Inputs of one run of a training program.
struct TrainBatch {
  NamedTensors inputs;
  std::int64_t items = 0;  // tokens or images in it: what speed is counted in
};

/// What a run of training feeds and measures.
struct TrainTask {
  /// A training step as add_training_step makes it; must outlive the Trainer.
  const Program* train = nullptr;
  /// Inputs of a batch, or of a shard of it where the program has shards. Batches are counted from
  /// 0, those of steps that were skipped included. Must be a function of the part alone, so that a
  /// resumed run sees what an uninterrupted one does. The next ones are made on another thread
  /// while a step runs, never two at once; only `evaluate` runs beside it.
  std::function<TrainBatch(const BatchPart& part)> batch = {};
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
  double gradient_norm = 0;  // before clipping
  // Of the last steps, with what they wait for their batches, without evaluations:
  double items_per_second = 0;
  std::string_view unit = {};  // what items are
  double seconds_left = 0;
};

/// A step that was skipped (TrainSettings::skip_nonfinite), just now.
struct SkipReport {
  std::int64_t step = 0;  // the one that it would have been
  std::string what = {};  // is not finite: "the gradient norm is nan (the loss is 2.31)"
  double loss = 0, gradient_norm = 0;
  std::int64_t in_a_row = 0, most = 0;  // this one counted; as many as may be
};

/// Is told what happens. All calls come from the thread of run().
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  /// A step was taken, or skipped since it was not finite.
  virtual void on_step(const StepReport&) {}
  virtual void on_skip(const SkipReport&) {}
  /// `whole`: over all held-out data, not some batches of it.
  virtual void on_evaluation(std::int64_t /*step*/, const Evaluation&, bool /*whole*/) {}
  /// The model was saved.
  virtual void on_checkpoint(std::int64_t /*step*/) {}
  /// After save_best: of the evaluations that are compared this one's loss is the lowest so far.
  virtual void on_best(std::int64_t /*step*/, double /*loss*/) {}
};

/// What a rank did of a run, without evaluations.
struct RankSpeed {
  double items_per_second = 0;  // of what all ranks did: its part
  double waiting = 0;  // of its time the part in which it waited for others (TimedTransport)
};

/// How a run ended.
struct TrainOutcome {
  std::int64_t step = 0;  // steps completed
  bool stopped = false;   // as asked to, before all steps were done
  /// Ended before all steps were done: `patience` evaluations in a row brought no better loss.
  bool out_of_patience = false;
  std::int64_t skipped = 0;  // steps that were not finite, of earlier runs too
  /// Over all held-out data; the loss is NaN if the run was stopped or there is none.
  Evaluation evaluation = {};
  /// Of the evaluations that are compared, those of `history` included; NaN where neither save_best
  /// nor patience asks for it.
  BestEvaluation best = {};
  /// Where the Session has a World of several ranks: each one's.
  std::vector<RankSpeed> ranks = {};
};

/// Time per step over the last few steps: follows a machine that changes its speed, and is not
/// thrown by the first step, which plans.
class StepClock {
 public:
  void begin();
  /// Seconds since begin().
  double end();
  double seconds_per_step() const { return mean_; }

 private:
  std::chrono::steady_clock::time_point start_;
  double mean_ = 0;
  std::int64_t steps_ = 0;
};

/// What this rank does, over all steps but the first, which plans.
struct RankClock {
  std::int64_t steps = 0, items = 0;
  double seconds = 0, waited = 0;
};

class AgreedStop;
class BatchPrefetcher;

/// Trains a model in a Session. What a step computes is in its program; this loop only feeds it, so
/// that a run stopped anywhere and resumed from its checkpoint gives the same bits as one that was
/// not. One batch is made ahead, on a thread that ends with run().
///
/// Models that learn their training data by heart get worse on all other: save_best keeps the best,
/// `patience` ends the run. Both compare validation losses over the same part of the held-out data
/// only (TrainSettings::compared_batches), where the last step is then looked at, too; and both
/// count what `history` knows, so that a resumed run finds the best that an uninterrupted one does.
///
/// Where the Session has a World of several ranks, each runs a Trainer of its own with the same
/// settings over its shards, and has the same numbers and the same parameters. Before the first
/// step they compare what they begin with (training_greeting.h). Rank 0 alone saves, while the
/// others wait; only then the optimizer's state is whole, in its store (Session::gather_state()
/// makes it so on all). Or all save together (Options::all_save). `stop`, set on any of them, stops
/// all at the same step. What one throws ends all (WorldError).
///
/// What is saved is finite: a step whose loss or gradient norm is not ends the run, or is skipped
/// (TrainSettings::skip_nonfinite), and before anything is saved all parameters and moments are
/// looked at. So a run that diverges leaves the last good file as it is.
class Trainer {
 public:
  struct Options {
    TrainSettings settings = {};
    TrainHistory history = {};  // of an earlier run
    /// A fingerprint of the data, which ranks compare.
    std::string data = {};
    TrainObserver* observer = nullptr;
    /// Writes a checkpoint; may be empty. Called every save_every steps and at the end; of several
    /// ranks on the first alone, and so is save_best: they are given on all ranks or on none.
    std::function<void(const TrainHistory&)> save = {};
    /// Of several ranks all call `save` and `save_best`, and nothing is gathered before: for those
    /// that write together (save_model_in_shards).
    bool all_save = false;
    /// Writes the model to another place; may be empty. Called after every evaluation whose loss is
    /// the lowest so far; the last entry of the history is that evaluation.
    std::function<void(const TrainHistory&)> save_best = {};
    /// Set by a signal handler, say: the run saves and ends after the step that is under way (with
    /// several ranks after the next).
    const std::atomic<bool>* stop = nullptr;
    /// Ends as `stop` does once this many steps are completed; 0 = never.
    std::int64_t stop_after = 0;
  };

  /// The session must outlive the Trainer. Continues at the step that its variables are at. Throws
  /// ArgumentError for settings that make no sense, where save_best or patience is given and the
  /// task has nothing to evaluate on, where the program has another number of shards, and where
  /// steps are to be skipped that the program does not skip.
  Trainer(Session& session, TrainTask task, Options options);

  /// Runs to the last step (or a stop). Throws DataError that says at which step what was no longer
  /// finite (the loss, the gradient norm, which parameter), after nothing more was saved. What a
  /// batch throws is thrown at its step, which the message of an Error begins with. ArgumentError,
  /// on all ranks, where they differ.
  TrainOutcome run();

  const TrainHistory& history() const { return options_.history; }

 private:
  const World& world() const { return session_.options().world; }
  /// Reads where the variables are, and compares it with the other ranks.
  void begin();
  TrainOutcome take_steps(AgreedStop& agreed);
  bool stop_asked() const { return options_.stop != nullptr && options_.stop->load(); }
  /// Whether the run is to end after that step.
  bool stops(std::int64_t step) const;
  bool compares() const { return options_.save_best || options_.settings.patience > 0; }
  bool out_of_patience() const;
  /// Over that many held-out batches, 0 = all.
  void evaluate(std::int64_t step, std::int64_t batches);
  /// The looks at the model of the last step.
  void evaluate_last(std::int64_t step);
  void save(std::int64_t step);
  /// Looks at all variables, and lets all ranks write. Or makes them whole on the first rank, and
  /// lets that one; the others wait until it has.
  void write(std::int64_t step, const std::function<void(const TrainHistory&)>& save) const;
  double share_of_rank() const;
  std::vector<RankSpeed> speeds_of_ranks() const;
  /// Takes one step. False where it was skipped.
  bool take_step(BatchPrefetcher& batches);
  /// Runs the programs of a step over its batches; `items` is what these hold.
  Results run_step(BatchPrefetcher& batches, std::int64_t& items);
  /// Throws DataError: the run is over, because of `what` ("the loss is nan").
  [[noreturn]] void diverged(const std::string& what, std::int64_t step) const;
  /// Throws as diverged() where a variable that is about to be saved is not finite.
  void check_variables(std::int64_t step) const;

  Session& session_;
  TrainTask task_;
  Options options_;
  BestEvaluation best_;
  Evaluation last_;
  std::pair<std::int64_t, std::int64_t> last_at_{-1, 0};  // step and batches of last_
  std::int64_t step_ = 0;                                 // steps completed
  std::int64_t skipped_ = 0;                              // steps skipped, of earlier runs too
  std::int64_t in_a_row_ = 0;                             // of these, the last ones
  std::int64_t saved_ = -1;                               // step of the last checkpoint
  bool stop_ = false;                                     // all ranks have agreed to
  StepClock clock_;
  RankClock rank_clock_;
};

}  // namespace weft
