// What most programs need, in one include: graphs and what is written in them, sessions, gradients
// and optimizers, files. Layers with parameters are in weft/models/layers/layers.h, the rest of
// weft/models/ has a header per use.
#pragma once

#include "weft/autodiff/derivatives.h"
#include "weft/autodiff/gradients.h"
#include "weft/autodiff/optimizer.h"
#include "weft/core/random_tensors.h"
#include "weft/core/version.h"
#include "weft/graph/control/call.h"
#include "weft/graph/control/cond.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/graph/text/text.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/load_parameters.h"
