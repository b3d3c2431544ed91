// Lion: steps of one size in every direction.
#pragma once

#include "weft/autodiff/optimizers/step.h"
#include "weft/autodiff/schedule.h"

namespace WEFT_API weft {

struct LionOptions {
  /// Every element moves by as much: a third to a tenth of AdamW's rate, with as many times its
  /// weight decay.
  Schedule lr = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;  // of the parameter itself, times the learning rate
  Decay decay = Decay::matrices;
  StepOptions step = {};
};

/// Lion (Chen et al. 2023): p = p * (1 - lr*wd) - lr * sign(b1*m + (1-b1)*g);
/// m = b2*m + (1-b2)*g; sign(0) is 0. State: m, a number per element of a parameter, half of
/// Adam's. Refuses StepOptions::sparse.
TrainingStep lion(const Loss& loss, const ParameterGroups& groups, const LionOptions& options = {},
                  SourceLocation loc = SourceLocation::current());

}  // namespace weft
