// Adds a training step to a model that computes a loss.
#pragma once

#include <concepts>
#include <functional>
#include <string>

#include "weft/models/training/fine_tune.h"
#include "weft/models/training/model.h"
#include "weft/models/training/trainer.h"

namespace WEFT_API weft {

/// Turns the program "train", whose only output is "loss", into one complete training step for the
/// trainable parameters, according to the model's settings and `options`. Throws ArgumentError
/// under the same conditions as add_training_step, freeze() and learning_rate_groups().
void make_trainable(TrainedModel& model, const FineTuneOptions& options = {},
                    SourceLocation loc = SourceLocation::current());

/// Makes a model from one of the `build_...` functions trainable and returns it:
///
///     LanguageModel model = trainable(build_language_model(config, tokenizer, settings));
template <std::derived_from<TrainedModel> Model>
Model trainable(Model model, const FineTuneOptions& options = {},
                SourceLocation loc = SourceLocation::current()) {
  make_trainable(model, options, loc);
  return model;
}

/// Returns a task that feeds batches to a trainable model, which must outlive the task. `unit` is
/// the unit of the batch size. TrainTask::evaluate is not set.
TrainTask train_task(const TrainedModel& model, std::string unit,
                     std::function<TrainBatch(const BatchPart&)> batch);

}  // namespace weft
