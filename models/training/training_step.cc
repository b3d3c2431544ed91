#include "weft/models/training/training_step.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/models/training/optimizers.h"

namespace weft {
namespace {

/// Counts skipped steps in variables, so that a resumed run can restore how many batches were used
/// and how many consecutive steps were skipped.
void count_skipped(Program& train, Value taken, SourceLocation loc) {
  Graph& graph = taken.graph();
  const auto counter = [&](const char* name) {
    return graph.variable(name, {DType::i64, Shape{}},
                          {.kind = VariableKind::optimizer, .trainable = false}, loc);
  };
  const Variable all = counter(kSkippedVariable), in_a_row = counter(kSkippedInARowVariable);
  train.update(all, where(taken, all.value(), all.value() + 1), loc)
      .update(in_a_row, where(taken, graph.scalar(DType::i64, 0, loc), in_a_row.value() + 1), loc);
}

}  // namespace

Schedule learning_rate(const TrainSettings& s) {
  const auto warmup = static_cast<double>(s.warmup), steps = static_cast<double>(s.steps);
  // Warm-up steps are numbered from 1, so that the first step already changes the parameters.
  switch (s.schedule) {
    case LearningRate::cosine:
      return warmup_cosine(s.lr, warmup, steps, {.final = s.min_lr, .shift = 1});
    case LearningRate::linear:
      return linear_schedule(s.lr, warmup, steps, {.final = s.min_lr, .shift = 1});
    case LearningRate::inverse_sqrt: return inverse_square_root(s.lr, warmup, {.shift = 1});
    case LearningRate::constant: break;
  }
  return constant_schedule(s.lr, warmup, {.shift = 1});
}

void add_training_step(Program& train, Value loss, const ParameterGroups& groups,
                       const TrainSettings& settings, SourceLocation loc) {
  settings.check();
  train.precision(settings.precision).shards({.count = static_cast<int>(settings.shards)});
  StepOptions options{.clip_norm = settings.clip};
  if (settings.skip_nonfinite > 0) {
    options.skip_nonfinite = true;
    options.also_finite = loss;
  }
  const TrainingStep step =
      train_optimizer(settings.optimizer)
          .build({loss, groups, learning_rate(settings), settings, options, loc});
  train.output("loss", loss, loc)
      .output("learning_rate", step.learning_rate, loc)
      .output("gradient_norm", step.gradient_norm, loc)
      .update(step.updates, loc);
  if (step.taken.defined()) count_skipped(train, step.taken, loc);
  if (settings.ema == 0) return;
  std::vector<Variable> parameters;
  for (const ParameterGroup& group : groups)
    parameters.insert(parameters.end(), group.parameters.begin(), group.parameters.end());
  const Ema ema(parameters, {.decay = settings.ema, .warmup = true}, loc);
  train.update(ema.updates(step, loc), loc);
}

bool skips_nonfinite(const Program& train) {
  const Updates& updates = train.given_updates();
  return std::any_of(updates.begin(), updates.end(), [](const Updates::Entry& update) {
    return update.first.name() == kSkippedVariable;
  });
}

void add_training_step(Program& train, Value loss, const TrainSettings& settings,
                       SourceLocation loc) {
  add_training_step(train, loss, loss.graph().parameters(), settings, loc);
}

}  // namespace weft
