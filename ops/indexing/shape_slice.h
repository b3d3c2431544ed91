// slice, unslice, slice_add and pad, which are the ops of the shape family that read or write a
// part of a tensor.
#pragma once

#include "weft/ops/op.h"

namespace weft {

class OpSamples;

/// Add slice, unslice, slice_add and pad. Called by ShapeOps::add.
void add_slice_ops(OpSet& ops);
void add_slice_samples(OpSamples& all);

}  // namespace weft
