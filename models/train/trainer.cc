#include "weft/models/train/trainer.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "weft/core/error.h"
#include "weft/models/train/evaluate.h"
#include "weft/models/train/language_model.h"

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

Trainer::Trainer(Session& session, const Program& train, const Program& evaluate,
                 const TextData& data, Options options)
    : session_(session),
      train_(train),
      evaluate_(evaluate),
      data_(data),
      options_(std::move(options)) {
  options_.settings.check();
  if (options_.window < 1)
    throw ArgumentError(fmt::format("window must be at least 1, not {}", options_.window));
}

bool Trainer::stop_asked(std::int64_t step) const {
  return (options_.stop != nullptr && options_.stop->load()) ||
         (options_.stop_after > 0 && step >= options_.stop_after);
}

double Trainer::validation_loss(std::int64_t batches) {
  return weft::validation_loss(session_, evaluate_, data_, options_.settings.batch, options_.window,
                               batches);
}

void Trainer::evaluate(std::int64_t step, bool whole) {
  const double loss = validation_loss(whole ? 0 : options_.settings.eval_batches);
  options_.history.validation.emplace_back(step, loss);
  if (options_.observer != nullptr) {
    options_.observer->on_evaluation(step, loss, whole || options_.settings.eval_batches == 0);
  }
}

void Trainer::save(std::int64_t step) {
  if (!options_.save) return;
  options_.save(options_.history);
  if (options_.observer != nullptr) options_.observer->on_checkpoint(step);
}

TrainOutcome Trainer::run() {
  const TrainSettings& settings = options_.settings;
  const bool validates = data_.validation_size() > 1;
  session_.initialise();
  std::int64_t step = session_.value(kStepVariable).item<std::int64_t>();
  std::int64_t saved = -1;
  StepClock clock;
  while (step < settings.steps && !stop_asked(step)) {
    const TokenBatch batch =
        data_.random_windows(settings.batch, options_.window, settings.seed, step);
    clock.begin();
    const Results results =
        session_.run(train_, {{"tokens", batch.inputs}, {"targets", batch.targets}});
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
           .tokens_per_second = static_cast<double>(batch.tokens()) / seconds,
           .seconds_left = static_cast<double>(settings.steps - step) * seconds});
    }
    if (validates && settings.eval_every > 0 && step % settings.eval_every == 0 &&
        step < settings.steps) {
      evaluate(step, false);
    }
    if (settings.save_every > 0 && step % settings.save_every == 0 && step < settings.steps) {
      save(step);
      saved = step;
    }
  }
  TrainOutcome outcome{step, step < settings.steps, std::numeric_limits<double>::quiet_NaN()};
  if (!outcome.stopped && validates) {
    evaluate(step, true);
    outcome.validation_loss = options_.history.validation.back().second;
  }
  if (saved != step) save(step);
  return outcome;
}

}  // namespace weft
