// Umbrella header for most programs: graphs and functions to build them, sessions, gradients,
// optimizers and checkpoints. Layers with parameters are in weft/models/layers.h; the other
// parts of weft/models/ have one header per purpose.
#pragma once

#include "weft/autodiff/derivatives.h"
#include "weft/autodiff/gradients.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/random_tensors.h"
#include "weft/core/version.h"
#include "weft/graph/control/call.h"
#include "weft/graph/control/cond.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/graph/text/text.h"
#include "weft/graph/weights/parameter_count.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/load_parameters.h"
