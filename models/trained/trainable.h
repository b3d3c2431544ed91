// A model that computes a loss becomes one that learns.
#pragma once

#include "weft/models/trained/fine_tune.h"
#include "weft/models/trained/model.h"

namespace weft {

/// Makes the program "train", which has the output "loss" only, one whole training step over the
/// trainable parameters, as settings and options say; with
/// settings.accumulate above 1 in two programs, the other one being "accumulate". Throws
/// ArgumentError as add_training_step, freeze() and layer_groups().
void make_trainable(TrainedModel& model, const FineTuneOptions& options = {},
                    SourceLocation loc = SourceLocation::current());

}  // namespace weft
