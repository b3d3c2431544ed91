// Stochastic gradient descent.
#pragma once

#include "weft/autodiff/optimizers/step.h"
#include "weft/autodiff/schedule.h"

namespace WEFT_API weft {

struct SgdOptions {
  Schedule lr = 0.01;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;  // L2: added to the gradient
  Decay decay = Decay::matrices;
  StepOptions step = {};
};

/// Stochastic gradient descent:
///   v = momentum * v + g; p -= lr * v, or, with Nesterov momentum, p -= lr * (g + momentum * v)
/// (Sutskever et al. 2013, as implemented in PyTorch). State: none without momentum; with momentum,
/// v, one number per element of a parameter. Momentum does not support StepOptions::sparse
/// (ArgumentError).
TrainingStep sgd(const Loss& loss, const ParameterGroups& groups, const SgdOptions& options = {},
                 SourceLocation loc = SourceLocation::current());

}  // namespace weft
