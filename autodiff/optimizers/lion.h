// Lion: sign-based steps of the same size for every element.
#pragma once

#include "weft/autodiff/optimizers/step.h"
#include "weft/autodiff/schedule.h"

namespace WEFT_API weft {

struct LionOptions {
  /// Step size of every element. Typically 3 to 10 times smaller than for AdamW, with a weight
  /// decay that is larger by the same factor.
  Schedule lr = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;  // decoupled: applied to the parameter, scaled by the learning rate
  Decay decay = Decay::matrices;
  StepOptions step = {};
};

/// Lion (Chen et al. 2023): p = p * (1 - lr*wd) - lr * sign(b1*m + (1-b1)*g);
/// m = b2*m + (1-b2)*g; sign(0) is 0. State: m, one number per element of a parameter, half as many
/// as Adam. Does not support StepOptions::sparse (ArgumentError).
TrainingStep lion(const Loss& loss, const ParameterGroups& groups, const LionOptions& options = {},
                  SourceLocation loc = SourceLocation::current());

}  // namespace weft
