// AdaGrad (Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and
// stochastic optimization", 2011).
#pragma once

#include "weft/autodiff/optimizers/step.h"
#include "weft/autodiff/schedule.h"

namespace WEFT_API weft {

struct AdagradOptions {
  Schedule lr = 0.01;
  double eps = 1e-10;
  double weight_decay = 0;  // L2: added to the gradient
  Decay decay = Decay::matrices;
  StepOptions step = {};
};

/// AdaGrad: s += g * g; p -= lr * g / (sqrt(s) + eps), as in PyTorch. State: s, one number per
/// element of a parameter.
TrainingStep adagrad(const Loss& loss, const ParameterGroups& groups,
                     const AdagradOptions& options = {},
                     SourceLocation loc = SourceLocation::current());

}  // namespace weft
