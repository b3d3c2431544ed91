// slice, unslice and pad: the part of the shape family that picks places.
#pragma once

#include "weft/ops/op.h"

namespace weft {

/// Called by add_shape_ops.
void add_slice_ops(OpSet& ops);

}  // namespace weft
