// Turns a loss into a training step.
#pragma once

#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/models/training/settings.h"

namespace WEFT_API weft {

/// Variable that counts the completed training steps of a program made by add_training_step.
inline constexpr const char* kStepVariable = "optimizer.step";
/// Variables that count skipped steps if TrainSettings::skip_nonfinite is above 0: all skipped
/// steps, and those since the last completed step.
inline constexpr const char* kSkippedVariable = "optimizer.skipped";
inline constexpr const char* kSkippedInARowVariable = "optimizer.skipped_in_a_row";

/// Returns the learning-rate schedule of `settings`.
Schedule learning_rate(const TrainSettings& settings);

/// Turns `train` into a complete training step: forward and backward pass, clipping, learning-rate
/// schedule, optimizer and weight averaging. The outputs are "loss" (f32), "learning_rate" and
/// "gradient_norm" (f64 scalars). If settings.skip_nonfinite is above 0, steps with a loss or
/// gradient norm that is not finite are skipped and counted. If settings.shards is above 1, the
/// loss must be reduced over all shards (settings.loss_reduction()); otherwise the first step
/// throws GraphError. Throws ArgumentError if settings are invalid.
void add_training_step(Program& train, Value loss, const ParameterGroups& groups,
                       const TrainSettings& settings,
                       SourceLocation loc = SourceLocation::current());
/// As above, for all trainable parameters of the graph.
void add_training_step(Program& train, Value loss, const TrainSettings& settings,
                       SourceLocation loc = SourceLocation::current());

/// Returns true if a program made by add_training_step skips non-finite steps.
bool skips_nonfinite(const Program& train);

}  // namespace weft
