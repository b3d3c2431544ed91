#include "weft/models/training/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/core/world/shard_tree.h"
#include "weft/core/world/timed_transport.h"
#include "weft/graph/distributed/owned_state.h"
#include "weft/graph/engine/nonfinite.h"
#include "weft/graph/engine/trace.h"
#include "weft/models/training/agreed_stop.h"
#include "weft/models/training/prefetch.h"
#include "weft/models/training/training_handshake.h"
#include "weft/models/training/training_step.h"

namespace weft {
namespace {

const std::string kGradient = "gradient of ";

/// Formats a number. The sign of a NaN is omitted, because it has no meaning.
std::string format_number(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.5g}", value);
}

/// Returns a description of a step's loss or gradient norm if it is not finite, for example "the
/// loss is nan", or an empty string if both are finite. The gradient norm is reported only if the
/// loss is finite, because otherwise it adds no information.
std::string describe_nonfinite(double loss, double gradient_norm) {
  if (!std::isfinite(loss)) return fmt::format("the loss is {}", format_number(loss));
  if (!std::isfinite(gradient_norm))
    return fmt::format("the gradient norm is {} (the loss is {})", format_number(gradient_norm),
                       format_number(loss));
  return {};
}

}  // namespace

void StepClock::begin() { start_ = std::chrono::steady_clock::now(); }

double StepClock::end() {
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - start_).count();
  ++steps_;
  // The first step includes compilation, so discard its time as soon as there is a second step.
  const double keep = steps_ <= 2 ? 0 : std::min(0.95, 1 - 1.0 / static_cast<double>(steps_));
  mean_ = keep * mean_ + (1 - keep) * seconds;
  return seconds;
}

Trainer::Trainer(Session& session, TrainTask task, Options options)
    : session_(session), task_(std::move(task)), options_(std::move(options)) {
  options_.settings.check();
  if (task_.train == nullptr || !task_.batch)
    throw ArgumentError("a TrainTask requires a program `train` and a batch source `batch`");
  if (const int made = task_.train->shards().count; made != options_.settings.shards) {
    throw ArgumentError(
        fmt::format("shards: the program's training step was built with {} shards, but the "
                    "settings specify {}; the number is fixed when the step is built",
                    made, options_.settings.shards));
  }
  if (options_.settings.skip_nonfinite > 0 && !skips_nonfinite(*task_.train)) {
    throw ArgumentError(
        "skip_nonfinite: the program's training step was built without it, and it can only be "
        "enabled when the step is built");
  }
  if (tracks_best() && !task_.evaluate) {
    throw ArgumentError(
        fmt::format("{} requires held-out data, but the task has none",
                    options_.save_best ? "the best model (save_best)" : "patience"));
  }
  if (options_.gradients_every > 0) add_gradient_outputs();
  if (tracks_best()) best_ = options_.history.best(options_.settings.compared_batches());
}

void Trainer::add_gradient_outputs() {
  if (world().size() > 1) {
    throw ArgumentError(
        fmt::format("gradients_every requires a single rank, but there are {}: ranks hold only "
                    "parts of the sums of gradients",
                    world().size()));
  }
  const auto& outputs = task_.train->outputs();
  const auto loss = std::find_if(outputs.begin(), outputs.end(),
                                 [](const auto& output) { return output.first == "loss"; });
  const std::vector<Variable> parameters = session_.graph().parameters();
  const std::vector<Value> found =
      gradients(loss->second, parameters, {.unreachable = Unreachable::zeros});
  observed_ = *task_.train;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    gradient_outputs_.push_back(kGradient + parameters[i].name());
    observed_->output(gradient_outputs_.back(), found[i]);
  }
}

bool Trainer::stops(std::int64_t step) const {
  return stop_ || (options_.stop_after > 0 && step >= options_.stop_after);
}

bool Trainer::out_of_patience() const {
  const std::int64_t patience = options_.settings.patience;
  return patience > 0 && best_.since >= patience;
}

void Trainer::evaluate(std::int64_t step, std::int64_t batches) {
  TrainHistory& history = options_.history;
  world().set_phase(fmt::format("step {}: evaluation", step));
  // The averaged weights are part of the optimizer state.
  if (options_.settings.ema > 0) session_.gather_state();
  last_ = task_.evaluate(batches == 0);
  last_at_ = {step, batches};
  if (options_.observer != nullptr) options_.observer->on_evaluation(step, last_, batches == 0);
  // Resuming a finished run evaluates the model again, but the history already contains this
  // evaluation.
  if (history.has_evaluation(step, batches)) return;
  history.add(step, last_, batches);
  if (!tracks_best() || batches != options_.settings.compared_batches()) return;
  best_ = history.best(batches);
  const bool now = best_.since == 0 && !std::isnan(best_.loss);
  if (!now || !options_.save_best) return;
  world().set_phase(fmt::format("step {}: saving the best model", step));
  write(step, options_.save_best);
  if (options_.observer != nullptr) options_.observer->on_best(step, last_.loss);
}

void Trainer::evaluate_last(std::int64_t step) {
  const std::int64_t compared = options_.settings.compared_batches();
  if (tracks_best() && compared != 0 && !options_.history.has_evaluation(step, compared))
    evaluate(step, compared);
  if (last_at_ != std::pair{step, std::int64_t{0}}) evaluate(step, 0);
}

void Trainer::save(std::int64_t step) {
  if (!options_.save) return;
  world().set_phase(fmt::format("step {}: saving", step));
  write(step, options_.save);
  saved_ = step;
  if (options_.observer != nullptr) options_.observer->on_checkpoint(step);
}

void Trainer::write(std::int64_t step, const std::function<void(const TrainHistory&)>& save) const {
  if (!options_.all_save) session_.gather_state(Gather::first);
  check_variables(step);
  if (options_.all_save || world().first()) save(options_.history);
  world().barrier();
}

void Trainer::throw_diverged(const std::string& what, std::int64_t step) const {
  throw DataError(fmt::format(
      "{} at step {}: training has diverged; try a lower learning rate (--lr), or "
      "find the first such value with SessionOptions::check_finite (--check-finite); {}",
      what, step,
      saved_ >= 0 ? fmt::format("the checkpoint of step {} is kept", saved_)
                  : "no checkpoint was written"));
}

void Trainer::check_variables(std::int64_t step) const {
  auto found = first_nonfinite(*session_.store());
  // Without all_save, the store on rank 0 contains the whole state.
  if (!found && options_.all_save) found = first_nonfinite(session_.owned_state(), world().rank());
  if (found) throw_diverged(found->message, step);
}

Results Trainer::run_step(BatchPrefetcher& batches, std::int64_t& items) {
  const TrainSettings& settings = options_.settings;
  // No batch is prefetched after the last step of a run. (If the last step is skipped, the next
  // batch is made on demand.)
  const bool last_step = step_ + 1 == settings.steps || stop_requested() || stops(step_ + 1);
  const std::int64_t number = step_ + skipped_;
  RunOptions options;
  options.part_of = fmt::format("step {}", step_ + 1);
  Trace* const trace = session_.options().trace;
  const auto feeds = [&](int shard) {
    const double begin = Trace::now();
    TrainBatch batch = batches.take(number, shard, !last_step);
    if (trace != nullptr) trace->slice("wait for batch", begin, Trace::now());
    items += batch.items;
    return std::move(batch.inputs);
  };
  if (trace != nullptr) trace->begin_step(step_ + 1);
  const bool observed =
      observed_ && options_.observer != nullptr && (step_ + 1) % options_.gradients_every == 0;
  if (observed) {
    options.streamed = gradient_outputs_;
    options.on_output = [&](const std::string& output, const Tensor& value) {
      if (output.starts_with(kGradient))
        options_.observer->on_gradient(step_ + 1, output.substr(kGradient.size()), value);
    };
  }
  Results results = session_.run_shards(observed ? *observed_ : *task_.train, feeds, options);
  if (trace != nullptr) trace->end_step();
  return results;
}

// Returns the factor that scales the number of items on this rank to that on all ranks.
double Trainer::shard_ratio() const {
  const int shards = task_.train->shards().count;
  return static_cast<double>(shards) / session_.shards_of_rank(*task_.train).size();
}

std::vector<RankSpeed> Trainer::speeds_of_ranks() const {
  if (world().size() == 1) return {};
  const RankClock& clock = rank_clock_;
  const double seconds = std::max(clock.seconds, 1e-9);
  const RankSpeed own{static_cast<double>(clock.items) / seconds, clock.waited / seconds};
  std::vector<RankSpeed> all;
  for (const std::string& bytes : world().gather({reinterpret_cast<const char*>(&own), sizeof own}))
    std::memcpy(&all.emplace_back(), bytes.data(), sizeof own);
  return all;
}

bool Trainer::take_step(BatchPrefetcher& batches) {
  const TrainSettings& settings = options_.settings;
  clock_.begin();
  Results results({});
  std::int64_t items = 0;
  const double waited = seconds_waited(world());
  try {
    results = run_step(batches, items);
  } catch (const WorldError&) {
    throw;  // unchanged, because the message is the same on all ranks
  } catch (const Error& e) {
    e.rethrow_as(fmt::format("step {}: {}", step_ + 1, e.what()));
  }
  const double seconds = clock_.end();
  if (rank_clock_.steps++ == 1) rank_clock_ = {.steps = 2};  // discard the first step
  rank_clock_.items += items;
  rank_clock_.seconds += seconds;
  rank_clock_.waited += seconds_waited(world()) - waited;
  const double loss = results["loss"].item<float>();
  const auto gradient_norm = results["gradient_norm"].item<double>();
  const std::string what = describe_nonfinite(loss, gradient_norm);
  if (!what.empty()) {
    if (settings.skip_nonfinite == 0) throw_diverged(what, step_ + 1);
    ++skipped_;
    if (++in_a_row_ > settings.skip_nonfinite) {
      throw_diverged(
          fmt::format("{} consecutive steps were not finite, but skip_nonfinite allows only {}; {}",
                      in_a_row_, settings.skip_nonfinite, what),
          step_ + 1);
    }
    if (options_.observer != nullptr) {
      options_.observer->on_skip({.step = step_ + 1,
                                  .what = what,
                                  .loss = loss,
                                  .gradient_norm = gradient_norm,
                                  .in_a_row = in_a_row_,
                                  .most = settings.skip_nonfinite});
    }
    return false;
  }
  in_a_row_ = 0;
  ++step_;
  options_.history.train.emplace_back(step_, loss);
  if (options_.observer != nullptr) {
    const double each = clock_.seconds_per_step();
    options_.observer->on_step(
        {.step = step_,
         .steps = settings.steps,
         .loss = loss,
         .learning_rate = results["learning_rate"].item<double>(),
         .gradient_norm = gradient_norm,
         .items_per_second = static_cast<double>(items) * shard_ratio() / each,
         .unit = task_.unit,
         .seconds_left = static_cast<double>(settings.steps - step_) * each});
  }
  return true;
}

TrainOutcome Trainer::run() {
  begin();
  // Declared outside of poison_on_error(), because transfers may write into `agreed` even after a
  // step has thrown, until the world has ended.
  AgreedStop agreed(world());
  TrainOutcome outcome;
  world().poison_on_error([&] { outcome = take_steps(agreed); });
  return outcome;
}

void Trainer::begin() {
  Handshake handshake;
  world().poison_on_error([&] {
    world().set_phase("the start of training");
    session_.initialise();
    const auto counter = [&](const char* name) {
      return session_.value(name).item<std::int64_t>();
    };
    step_ = counter(kStepVariable);
    if (skips_nonfinite(*task_.train)) {
      skipped_ = counter(kSkippedVariable);
      in_a_row_ = counter(kSkippedInARowVariable);
    }
    if (world().size() == 1) return;
    handshake = training_handshake(session_, {.train = *task_.train,
                                              .settings = options_.settings,
                                              .data = options_.data,
                                              .step = step_,
                                              .skipped = skipped_});
  });
  // Both calls throw either on all ranks or on none.
  agree(world(), handshake);
  check_shards(task_.train->shards().count, world().size());
}

TrainOutcome Trainer::take_steps(AgreedStop& agreed) {
  const TrainSettings& settings = options_.settings;
  const int shards = task_.train->shards().count;
  BatchPrefetcher batches(task_.batch, shards, session_.shards_of_rank(*task_.train));
  bool changed = true;  // since the last checkpoint
  stop_ = agreed.begin(stop_requested());
  while (step_ < settings.steps && !stops(step_) && !out_of_patience()) {
    changed = true;
    const bool taken = take_step(batches);
    const bool has_more_steps = step_ < settings.steps;
    if (taken && has_more_steps && task_.evaluate && settings.eval_every > 0 &&
        step_ % settings.eval_every == 0)
      evaluate(step_, settings.eval_batches);
    if (taken && has_more_steps && settings.save_every > 0 && step_ % settings.save_every == 0) {
      save(step_);
      changed = false;
    }
    stop_ = agreed.after_step(stop_requested());
  }
  agreed.end();
  const bool early = step_ < settings.steps;
  TrainOutcome outcome{.step = step_, .stopped = early && stops(step_)};
  outcome.out_of_patience = early && !outcome.stopped;
  outcome.skipped = skipped_;
  if (!outcome.stopped && task_.evaluate) {
    evaluate_last(step_);
    outcome.evaluation = last_;
  }
  outcome.best = best_;
  if (changed) save(step_);
  outcome.ranks = speeds_of_ranks();
  world().set_phase("the end of training");
  return outcome;
}

}  // namespace weft
