// A loss becomes a training step.
#pragma once

#include <vector>

#include "weft/autodiff/optimizer.h"
#include "weft/models/train/settings.h"

namespace WEFT_API weft {

/// Completed training steps of a session that runs a program of add_training_step.
inline constexpr const char* kStepVariable = "optimizer.step";
/// Where TrainSettings::skip_nonfinite is above 0: steps skipped so far, and since the last one
/// that was not.
inline constexpr const char* kSkippedVariable = "optimizer.skipped";
inline constexpr const char* kSkippedInARowVariable = "optimizer.skipped_in_a_row";

/// The learning rate over the steps, as `settings` say.
Schedule learning_rate(const TrainSettings& settings);

/// Makes `train` a whole training step: forward, backward, clipping, schedule, optimizer, averages.
/// Outputs "loss" (f32), "learning_rate" and "gradient_norm" (f64 scalars). Where the settings say
/// so, steps whose loss or gradient norm is not finite are skipped and counted. With
/// settings.shards above 1 the loss must be one of all shards (settings.loss_reduction()), or the
/// first step is a GraphError. Throws ArgumentError where the settings make no sense.
void add_training_step(Program& train, Value loss, const ParameterGroups& groups,
                       const TrainSettings& settings,
                       SourceLocation loc = SourceLocation::current());
/// The same for all trainable parameters of the graph.
void add_training_step(Program& train, Value loss, const TrainSettings& settings,
                       SourceLocation loc = SourceLocation::current());

/// Whether a program of add_training_step skips steps that are not finite.
bool skips_nonfinite(const Program& train);

}  // namespace weft
