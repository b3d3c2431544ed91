// Phases of the movement ops.
#pragma once

#include <vector>

#include "weft/ops/kernel.h"
#include "weft/ops/kernels/shape_copy.h"
#include "weft/ops/op.h"

namespace weft {

/// A phase that copies input `input` to output 0. The arrays start `src_offset` and `dst_offset`
/// elements into their operands. With `skip_same` nothing happens where both are the same memory
/// (an output written over its input).
Phase copy_phase(kernels::StridedCopy copy, std::size_t input, std::int64_t src_offset,
                 std::int64_t dst_offset, std::size_t element_size, bool skip_same = false);

/// A phase that copies the whole of input `input` to output 0, unless they are the same memory.
Phase clone_phase(const OperandSpec& spec, std::size_t input);

/// A phase that sets every element of output 0 to `value`, converted to the output's dtype.
Phase fill_phase(const OperandSpec& out, double value);

/// The array of these sizes of x[starts + i * steps], over x of sizes `whole`: offset of the first
/// element and strides. Starts and steps that nothing is read by may be any integers.
struct StridedView {
  std::int64_t offset = 0;
  Sizes strides;
};
StridedView strided_view(const Sizes& whole, const Sizes& sizes, const Sizes& starts,
                         const std::vector<std::int64_t>& steps);

/// No FLOPs; every output element is read once and written once.
Cost movement_cost(const KernelRequest& request);

/// Of an op that changes a part of input 0, usually in place, and adds or writes input kPart there:
/// one FLOP per element of the part, which is read, and read and written where it goes.
template <std::size_t kPart>
Cost part_cost(const KernelRequest& r) {
  const auto n = static_cast<double>(r.inputs[kPart].numel());
  return {n, 3 * n * static_cast<double>(dtype_size(r.inputs[kPart].dtype))};
}

/// The axis attribute, checked against the rank of input 0; throws ShapeError.
int checked_axis(const InferContext& c);

}  // namespace weft
