// Phases and helpers of the ops that move data.
#pragma once

#include <vector>

#include "weft/ops/kernel.h"
#include "weft/ops/kernels/shape_copy.h"
#include "weft/ops/op.h"

namespace weft {

/// Returns a phase that copies input `input` to output 0. The arrays start `src_offset` and
/// `dst_offset` elements after the beginning of their operands. With `skip_same`, nothing is copied
/// if both are the same memory (an output written over its input).
Phase copy_phase(kernels::StridedCopy copy, std::size_t input, std::int64_t src_offset,
                 std::int64_t dst_offset, std::size_t element_size, bool skip_same = false);

/// Returns a phase that copies all of input `input` to output 0, unless they are the same memory.
Phase clone_phase(const OperandSpec& spec, std::size_t input);

/// Returns a phase that sets every element of output 0 to `value`, converted to the dtype of the
/// output.
Phase fill_phase(const OperandSpec& out, double value);

/// Offset of the first element and strides of the array x[starts + i * steps] of size `sizes`, for
/// a dense x of size `whole`. If the array is empty, starts and steps may be any integers; the step
/// of an axis of size 1 may always be any integer.
struct StridedView {
  std::int64_t offset = 0;
  Sizes strides;
};
StridedView strided_view(const Sizes& whole, const Sizes& sizes, const Sizes& starts,
                         const std::vector<std::int64_t>& steps);

/// The cost of a copy: no FLOPs; every output element is read once and written once.
Cost movement_cost(const KernelRequest& request);

/// The cost of an op that adds or writes input kPart to a part of input 0, usually in place: one
/// FLOP per element of input kPart, which is read, while its destination is read and written.
template <std::size_t kPart>
Cost part_cost(const KernelRequest& r) {
  const auto n = static_cast<double>(r.inputs[kPart].numel());
  return {n, 3 * n * static_cast<double>(dtype_size(r.inputs[kPart].dtype))};
}

/// Returns the attribute `axis`. Throws ShapeError if it is not an axis of input 0.
int checked_axis(const InferContext& c);

}  // namespace weft
