// The kernels of `fused` and `fused_reduce`.
#pragma once

#include "weft/ops/fusion/tile_program.h"

namespace weft {

/// Makes the kernel that runs the attribute "program", with inputs that broadcast to the results.
Kernel make_fused_kernel(const KernelRequest& request);
/// One FLOP per step and element, and the bytes of every operand.
Cost fused_cost(const KernelRequest& request);

/// Makes the kernel that runs the attribute "program" with one result and reduces the result as
/// specified by "reduction", "axes" and "keepdims". Chunks, order and bits are the same as for a
/// reduction of the whole tensor, which is never materialised.
Kernel make_fused_reduce_kernel(const KernelRequest& request);
Cost fused_reduce_cost(const KernelRequest& request);

/// Returns the NumPy broadcast of the sizes of all inputs that are not keys.
Sizes program_sizes(const TileProgram& program, const std::vector<OperandSpec>& inputs);

}  // namespace weft
