// The optimizers of training runs.
#pragma once

#include <string_view>

#include "weft/autodiff/optimizers/step.h"
#include "weft/autodiff/schedule.h"
#include "weft/models/training/settings.h"

namespace WEFT_API weft {

/// The arguments of a training step.
struct OptimizerArguments {
  Value loss;
  const ParameterGroups& groups;
  Schedule lr;
  const TrainSettings& settings;
  StepOptions step;
  SourceLocation loc;
};

/// Describes how training runs use an optimizer of autodiff/optimizers.
struct TrainOptimizer {
  std::string_view name;   // as in settings: "adamw"
  std::string_view title;  // as in papers: "AdamW"
  /// True if the weight decay of presets, which is tuned for AdamW, also suits this optimizer. For
  /// optimizers that add weight decay to gradients or to relative steps, weight decay is 0 unless
  /// it is set explicitly.
  bool uses_preset_decay;
  /// True if the optimizer uses TrainSettings::beta1 and beta2.
  bool uses_beta1, uses_beta2;
  /// Builds the training step.
  TrainingStep (*build)(const OptimizerArguments& a);
};

/// Returns the description of an optimizer.
const TrainOptimizer& train_optimizer(Optimizer optimizer);

}  // namespace weft
