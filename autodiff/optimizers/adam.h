// Adam and AdamW.
#pragma once

#include "weft/autodiff/optimizers/step.h"
#include "weft/autodiff/schedule.h"

namespace WEFT_API weft {

struct AdamOptions {
  Schedule lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // L2: added to the gradient
  Decay decay = Decay::matrices;
  StepOptions step = {};
};

struct AdamWOptions {
  Schedule lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;  // decoupled: applied to the parameter, scaled by the learning rate
  Decay decay = Decay::matrices;
  StepOptions step = {};
};

/// Adam (Kingma and Ba 2015): m = b1*m + (1-b1)*g; v = b2*v + (1-b2)*g*g;
/// p -= lr / (1-b1^t) * m / (sqrt(v) / sqrt(1-b2^t) + eps), with t starting at 1. Weight decay is
/// an L2 penalty added to the gradient. State: m and v, 2 numbers per element of a parameter, in
/// the parameter's dtype. If a step reads only a few rows of a table, see StepOptions::sparse.
TrainingStep adam(const Loss& loss, const ParameterGroups& groups, const AdamOptions& options = {},
                  SourceLocation loc = SourceLocation::current());

/// AdamW (Loshchilov and Hutter 2019): p *= 1 - lr*wd, then an Adam step without weight decay. The
/// state is the same as for adam().
TrainingStep adamw(const Loss& loss, const ParameterGroups& groups,
                   const AdamWOptions& options = {},
                   SourceLocation loc = SourceLocation::current());

}  // namespace weft
