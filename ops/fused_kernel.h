// The kernel of `fused`: a tile program over tensors.
#pragma once

#include "weft/ops/op.h"

namespace weft {

/// The program is attribute "program". Inputs broadcast to the results.
Kernel make_fused_kernel(const KernelRequest& request);
/// FLOPs: one per step and element; bytes: every operand once.
Cost fused_cost(const KernelRequest& request);

}  // namespace weft
