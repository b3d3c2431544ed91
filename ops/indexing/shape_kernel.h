// Phases and helpers for the ops that move data.
#pragma once

#include <vector>

#include "weft/ops/kernel.h"
#include "weft/ops/kernels/indexing/shape_copy.h"
#include "weft/ops/op.h"

namespace weft {

/// Returns a phase that copies input `input` to output 0. The arrays start `src_offset` and
/// `dst_offset` elements after the beginning of their operands. If `skip_same` is true and both
/// operands share memory (because the output overwrites the input), nothing is copied.
Phase copy_phase(kernels::StridedCopy copy, std::size_t input, std::int64_t src_offset,
                 std::int64_t dst_offset, std::size_t element_size, bool skip_same = false);

/// Returns a phase that copies all of input `input` to output 0 unless they share memory.
Phase clone_phase(const OperandSpec& spec, std::size_t input);

/// Returns a phase that sets every element of output 0 to `value`, converted to the dtype of the
/// output.
Phase fill_phase(const OperandSpec& out, double value);

/// The strided view x[starts + i * steps] with sizes `sizes` of a dense array x with sizes `whole`:
/// the offset of the first element, and the strides. If the view is empty, starts and steps may be
/// any integers. The step of an axis of size 1 may always be any integer.
struct StridedView {
  std::int64_t offset = 0;
  Sizes strides;
};
StridedView strided_view(const Sizes& whole, const Sizes& sizes, const Sizes& starts,
                         const std::vector<std::int64_t>& steps);

/// Returns the cost of a copy: no FLOPs, and every output element is read once and written once.
Cost movement_cost(const KernelRequest& request);

/// Returns the cost of an op that adds or writes input kPart to a part of input 0, usually in
/// place: one FLOP per element of input kPart, the bytes read from input kPart, and the bytes read
/// and written at the destination.
template <std::size_t kPart>
Cost part_cost(const KernelRequest& r) {
  const auto n = static_cast<double>(r.inputs[kPart].numel());
  return {n, 3 * n * static_cast<double>(dtype_size(r.inputs[kPart].dtype))};
}

/// Returns the attribute `axis`. Throws ShapeError if input 0 has no such axis.
int checked_axis(const InferContext& c);

}  // namespace weft
