// slice, unslice, slice_add and pad: the ops of the shape family that select or place a part of a
// tensor.
#pragma once

#include "weft/ops/op.h"

namespace weft {

/// Adds these ops. Called by add_shape_ops.
void add_slice_ops(OpSet& ops);

}  // namespace weft
