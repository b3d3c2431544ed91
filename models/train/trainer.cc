#include "weft/models/train/trainer.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/train/training_step.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

/// Time per step over the last few steps: follows a machine that changes its speed, and is not
/// thrown by the first step, which plans.
class StepClock {
 public:
  void begin() { start_ = Clock::now(); }
  void end() {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    ++steps_;
    // The first step also compiles: forget it as soon as there is another one.
    const double keep = steps_ <= 2 ? 0 : std::min(0.95, 1 - 1.0 / static_cast<double>(steps_));
    mean_ = keep * mean_ + (1 - keep) * seconds;
  }
  double seconds_per_step() const { return mean_; }

 private:
  Clock::time_point start_;
  double mean_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace

Trainer::Trainer(Session& session, TrainTask task, Options options)
    : session_(session), task_(std::move(task)), options_(std::move(options)) {
  options_.settings.check();
  if (task_.train == nullptr || !task_.batch)
    throw ArgumentError("a TrainTask needs a program `train` and a source of batches `batch`");
  if (compares() && !task_.evaluate) {
    throw ArgumentError(fmt::format(
        "{} held-out data, and there are none",
        options_.save_best ? "the best model (save_best) is found on" : "patience needs"));
  }
  if (compares()) best_ = options_.history.best(options_.settings.compared_batches());
}

bool Trainer::stop_asked(std::int64_t step) const {
  return (options_.stop != nullptr && options_.stop->load()) ||
         (options_.stop_after > 0 && step >= options_.stop_after);
}

bool Trainer::out_of_patience() const {
  const std::int64_t patience = options_.settings.patience;
  return patience > 0 && best_.since >= patience;
}

void Trainer::evaluate(std::int64_t step, std::int64_t batches) {
  TrainHistory& history = options_.history;
  last_ = task_.evaluate(batches == 0);
  last_at_ = {step, batches};
  if (options_.observer != nullptr) options_.observer->on_evaluation(step, last_, batches == 0);
  // A run that was at its end already and is resumed measures its model once more.
  if (history.has_evaluation(step, batches)) return;
  history.add(step, last_, batches);
  if (!compares() || batches != options_.settings.compared_batches()) return;
  best_ = history.best(batches);
  const bool now = best_.since == 0 && !std::isnan(best_.loss);
  if (!now || !options_.save_best) return;
  options_.save_best(history);
  if (options_.observer != nullptr) options_.observer->on_best(step, last_.loss);
}

void Trainer::evaluate_last(std::int64_t step) {
  const std::int64_t compared = options_.settings.compared_batches();
  if (compares() && compared != 0 && !options_.history.has_evaluation(step, compared))
    evaluate(step, compared);
  if (last_at_ != std::pair{step, std::int64_t{0}}) evaluate(step, 0);
}

void Trainer::save(std::int64_t step) {
  if (!options_.save) return;
  options_.save(options_.history);
  if (options_.observer != nullptr) options_.observer->on_checkpoint(step);
}

TrainOutcome Trainer::run() {
  const TrainSettings& settings = options_.settings;
  session_.initialise();
  std::int64_t step = session_.value(kStepVariable).item<std::int64_t>();
  std::int64_t saved = -1;
  StepClock clock;
  while (step < settings.steps && !stop_asked(step) && !out_of_patience()) {
    const TrainBatch batch = task_.batch(step);
    clock.begin();
    const Results results = session_.run(*task_.train, batch.inputs);
    clock.end();
    ++step;
    const double loss = results["loss"].item<float>();
    options_.history.train.emplace_back(step, loss);
    if (!std::isfinite(loss)) {
      throw DataError(fmt::format(
          "the loss is {} at step {}: training has diverged; try a lower learning rate (--lr)",
          loss, step));
    }
    if (options_.observer != nullptr) {
      const double seconds = clock.seconds_per_step();
      options_.observer->on_step(
          {.step = step,
           .steps = settings.steps,
           .loss = loss,
           .learning_rate = results["learning_rate"].item<double>(),
           .gradient_norm = results["gradient_norm"].item<double>(),
           .items_per_second = static_cast<double>(batch.items) / seconds,
           .unit = task_.unit,
           .seconds_left = static_cast<double>(settings.steps - step) * seconds});
    }
    if (task_.evaluate && settings.eval_every > 0 && step % settings.eval_every == 0 &&
        step < settings.steps) {
      evaluate(step, settings.eval_batches);
    }
    if (settings.save_every > 0 && step % settings.save_every == 0 && step < settings.steps) {
      save(step);
      saved = step;
    }
  }
  const bool early = step < settings.steps;
  TrainOutcome outcome{.step = step, .stopped = early && stop_asked(step)};
  outcome.out_of_patience = early && !outcome.stopped;
  if (!outcome.stopped && task_.evaluate) {
    evaluate_last(step);
    outcome.evaluation = last_;
  }
  outcome.best = best_;
  if (saved != step) save(step);
  return outcome;
}

}  // namespace weft
