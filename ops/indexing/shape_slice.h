// slice, unslice, slice_add and pad, which are the ops of the shape family that read or write a
// part of a tensor.
#pragma once

#include "weft/ops/op.h"

namespace weft {

/// Adds slice, unslice, slice_add and pad. Called by ShapeOps::add.
void add_slice_ops(OpSet& ops);

}  // namespace weft
