// The kernels of the ops `fused` and `fused_reduce`.
#pragma once

#include "weft/ops/fusion/tile_program.h"

namespace weft {

/// Creates the kernel that runs the attribute "program" on inputs that are broadcast to the
/// results.
Kernel make_fused_kernel(const KernelRequest& request);
/// Returns a cost of one FLOP per step and element, and the bytes of all operands.
Cost fused_cost(const KernelRequest& request);

/// Creates the kernel that runs the attribute "program", which must have one result, and reduces
/// the result as specified by "reduction", "axes" and "keepdims". The result is never materialised,
/// but the chunks, the order of operations and the bits are the same as for a reduction of the
/// whole tensor.
Kernel make_fused_reduce_kernel(const KernelRequest& request);
Cost fused_reduce_cost(const KernelRequest& request);

/// Returns the sizes to which all inputs except keys are broadcast according to the NumPy rules.
Sizes program_sizes(const TileProgram& program, const std::vector<OperandSpec>& inputs);

}  // namespace weft
