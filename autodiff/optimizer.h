// Optimizers as graph builders: the whole training step is one program, and all its state is
// variables. Each is one function,
//   TrainingStep adamw(loss or gradients, parameters or groups of them, options)
// and one that throws (ArgumentError, GradientError, GraphError where its scope is taken) leaves
// the graph as it was.
#pragma once

#include "weft/autodiff/optimizers/adafactor.h"
#include "weft/autodiff/optimizers/adagrad.h"
#include "weft/autodiff/optimizers/adam.h"
#include "weft/autodiff/optimizers/ema.h"
#include "weft/autodiff/optimizers/groups.h"
#include "weft/autodiff/optimizers/lion.h"
#include "weft/autodiff/optimizers/sgd.h"
#include "weft/autodiff/optimizers/sparse_gradient.h"
#include "weft/autodiff/optimizers/step.h"
#include "weft/autodiff/schedule.h"
