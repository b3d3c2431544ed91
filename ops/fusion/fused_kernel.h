// The kernels of `fused` and `fused_reduce`.
#pragma once

#include "weft/ops/fusion/tile_program.h"

namespace weft {

/// Attribute "program"; inputs broadcast to the results.
Kernel make_fused_kernel(const KernelRequest& request);
/// FLOPs: one per step and element; bytes: every operand once.
Cost fused_cost(const KernelRequest& request);

/// Attribute "program" with one result, which is reduced as "reduction", "axes" and "keepdims" say.
/// The chunks, order and bits are those of the reduction on the whole tensor, which never exists.
Kernel make_fused_reduce_kernel(const KernelRequest& request);
Cost fused_reduce_cost(const KernelRequest& request);

/// NumPy broadcasting of all inputs that are not keys.
Sizes program_sizes(const TileProgram& program, const std::vector<OperandSpec>& inputs);

}  // namespace weft
