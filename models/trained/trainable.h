// A model that computes a loss becomes one that learns.
#pragma once

#include <concepts>
#include <functional>
#include <string>

#include "weft/models/train/trainer.h"
#include "weft/models/trained/fine_tune.h"
#include "weft/models/trained/model.h"

namespace WEFT_API weft {

/// Makes the program "train", which has the output "loss" only, one whole training step over the
/// trainable parameters, as settings and options say. Throws ArgumentError as add_training_step,
/// freeze() and learning_rate_groups().
void make_trainable(TrainedModel& model, const FineTuneOptions& options = {},
                    SourceLocation loc = SourceLocation::current());

/// The model that `build_...` gave, made trainable:
///
///     LanguageModel model = trainable(build_language_model(config, tokenizer, settings));
template <std::derived_from<TrainedModel> Model>
Model trainable(Model model, const FineTuneOptions& options = {},
                SourceLocation loc = SourceLocation::current()) {
  make_trainable(model, options, loc);
  return model;
}

/// A task that feeds a trainable model, which must outlive it, with batches of `unit`. What it
/// measures is still to be said.
TrainTask train_task(const TrainedModel& model, std::string unit,
                     std::function<TrainBatch(const BatchPart&)> batch);

}  // namespace weft
