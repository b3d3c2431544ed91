#include "weft/models/train/training_step.h"

namespace weft {

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
  const TrainingStep step = adamw(loss, groups,
                                  {.lr = learning_rate(settings),
                                   .beta1 = settings.beta1,
                                   .beta2 = settings.beta2,
                                   .weight_decay = settings.weight_decay,
                                   .step = {.clip_norm = settings.clip}},
                                  loc);
  train.output("loss", loss, loc)
      .output("learning_rate", step.learning_rate, loc)
      .output("gradient_norm", step.gradient_norm, loc)
      .update(step.updates, loc);
}

void add_training_step(Program& train, Value loss, const TrainSettings& settings,
                       SourceLocation loc) {
  add_training_step(train, loss, {{.parameters = loss.graph().parameters()}}, settings, loc);
}

}  // namespace weft
