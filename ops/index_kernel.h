// What the index ops share: indices, their checks, and rows around an axis.
#pragma once

#include <string>
#include <string_view>

#include "weft/ops/kernel.h"
#include "weft/ops/op.h"

namespace weft {

/// x seen as [outer, length, inner] around an axis.
struct AxisLines {
  std::int64_t outer = 1, length = 1, inner = 1;
};
AxisLines lines_around(const Sizes& sizes, std::int64_t axis);

/// A Kernel::check that throws DataError unless every element of input `input` is in [0, bound).
/// `what` names the bound: "axis 0 has size".
std::function<void(const KernelRun&)> index_check(const OperandSpec& spec, std::size_t input,
                                                  std::string_view what, std::int64_t bound);

/// "[1, 2]": where the element at `position` of a tensor of these sizes lies.
std::string index_text(std::int64_t position, const Sizes& sizes);

/// Element i of a tensor of indices.
inline std::int64_t read_index(const void* data, DType dtype, std::int64_t i) {
  return dtype == DType::i32 ? static_cast<const std::int32_t*>(data)[i]
                             : static_cast<const std::int64_t*>(data)[i];
}

/// dynamic_slice and dynamic_update_slice. Called by add_index_ops.
void add_dynamic_slice_ops(OpSet& ops);
/// require_offsets. Called by add_index_ops.
void add_offset_ops(OpSet& ops);

}  // namespace weft
