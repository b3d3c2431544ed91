// The training loop: data in, steps, evaluations and checkpoints out.
#pragma once

#include <atomic>
#include <functional>

#include "weft/graph/run/session.h"
#include "weft/models/data/text.h"
#include "weft/models/train/settings.h"

namespace weft {

/// One step, just done.
struct StepReport {
  std::int64_t step = 0;   // steps completed, this one counted
  std::int64_t steps = 0;  // steps of the whole run
  double loss = 0;         // before the step
  double learning_rate = 0;
  double gradient_norm = 0;      // before clipping
  double tokens_per_second = 0;  // of the last steps, without evaluations
  double seconds_left = 0;
};

/// Is told what happens. All calls come from the thread of run().
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_step(const StepReport&) {}
  /// `whole`: over the whole validation part, not some batches of it.
  virtual void on_evaluation(std::int64_t /*step*/, double /*loss*/, bool /*whole*/) {}
  virtual void on_checkpoint(std::int64_t /*step*/) {}
};

struct TrainOutcome {
  std::int64_t step = 0;       // steps completed
  bool stopped = false;        // before all steps were done
  double validation_loss = 0;  // over the whole validation part; NaN if stopped or there is none
};

/// Trains a language model in a Session. What a step computes is in its program; this loop only
/// feeds it, so that a run stopped anywhere and resumed from its checkpoint gives the same bits as
/// one that was not.
class Trainer {
 public:
  struct Options {
    std::int64_t window = 0;  // tokens per window: the model's context
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

  /// `train` and `evaluate` as in LanguageModelPrograms; session, programs and data must outlive
  /// the Trainer. Continues at the step that the session's variables are at.
  Trainer(Session& session, const Program& train, const Program& evaluate, const TextData& data,
          Options options);

  /// Runs to the last step (or a stop). Throws DataError, after nothing more was saved, where the
  /// loss is no longer finite.
  TrainOutcome run();

  /// Mean loss over `batches` full batches of the validation part, spread evenly; 0 = over all of
  /// it, every prediction counted once.
  double validation_loss(std::int64_t batches = 0);

  const TrainHistory& history() const { return options_.history; }

 private:
  bool stop_asked(std::int64_t step) const;
  void evaluate(std::int64_t step, bool whole);
  void save(std::int64_t step);

  Session& session_;
  const Program& train_;
  const Program& evaluate_;
  const TextData& data_;
  Options options_;
};

}  // namespace weft
