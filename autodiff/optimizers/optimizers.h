// Optimizers as graph builders: a whole training step is one program, and all optimizer state is
// stored in variables. Each optimizer is one function:
//   TrainingStep adamw(loss or gradients, parameters or parameter groups, options)
// L-BFGS minimises a deterministic loss outside of programs: lbfgs.h.
// If an optimizer throws (ArgumentError, GradientError, or GraphError if its scope is taken), the
// graph is left unchanged.
#pragma once

#include "weft/autodiff/optimizers/adafactor.h"
#include "weft/autodiff/optimizers/adagrad.h"
#include "weft/autodiff/optimizers/adam.h"
#include "weft/autodiff/optimizers/ema.h"
#include "weft/autodiff/optimizers/groups.h"
#include "weft/autodiff/optimizers/lbfgs.h"
#include "weft/autodiff/optimizers/lion.h"
#include "weft/autodiff/optimizers/polyak.h"
#include "weft/autodiff/optimizers/sgd.h"
#include "weft/autodiff/optimizers/sparse_gradient.h"
#include "weft/autodiff/optimizers/step.h"
#include "weft/autodiff/schedule.h"
#include "weft/graph/weights/copy_parameters.h"
#include "weft/graph/weights/flat_parameters.h"
