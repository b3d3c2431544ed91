#include "weft/models/train/training_step.h"

#include <algorithm>

#include "weft/graph/functions/arithmetic.h"

namespace weft {
namespace {

/// Counters of skipped steps, as variables, so that a run that goes on knows which batches are gone
/// and how many in a row were skipped.
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
  // The first step already moves: warm-up counts from 1.
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

void add_training_step(Program& train, Value loss, const std::vector<ParameterGroup>& groups,
                       const TrainSettings& settings, SourceLocation loc) {
  settings.check();
  train.precision(settings.precision);
  StepOptions options{.clip_norm = settings.clip};
  if (settings.skip_nonfinite > 0) {
    options.skip_nonfinite = true;
    options.also_finite = loss;
  }
  const TrainingStep step = adamw(loss, groups,
                                  {.lr = learning_rate(settings),
                                   .beta1 = settings.beta1,
                                   .beta2 = settings.beta2,
                                   .weight_decay = settings.weight_decay,
                                   .step = options},
                                  loc);
  train.output("loss", loss, loc)
      .output("learning_rate", step.learning_rate, loc)
      .output("gradient_norm", step.gradient_norm, loc)
      .update(step.updates, loc);
  if (step.taken.defined()) count_skipped(train, step.taken, loc);
}

bool skips_nonfinite(const Program& train) {
  const Updates& updates = train.given_updates();
  return std::any_of(updates.begin(), updates.end(), [](const Updates::Entry& update) {
    return update.first.name() == kSkippedVariable;
  });
}

void add_training_step(Program& train, Value loss, const TrainSettings& settings,
                       SourceLocation loc) {
  add_training_step(train, loss, {{.parameters = loss.graph().parameters()}}, settings, loc);
}

}  // namespace weft
