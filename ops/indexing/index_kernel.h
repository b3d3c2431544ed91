// Helpers shared by the index ops for reading and checking indices and for computing the sizes
// around an axis.
#pragma once

#include <string>
#include <string_view>

#include "weft/ops/kernel.h"
#include "weft/ops/op.h"

namespace weft {

/// The sizes of x viewed as [outer, length, inner] around an axis.
struct AxisLines {
  std::int64_t outer = 1, length = 1, inner = 1;
};
AxisLines lines_around(const Sizes& sizes, std::int64_t axis);

/// Returns a Kernel::check that throws DataError unless every element of input `input` is in [0,
/// bound). `what` describes the bound in the message, for example "axis 0 has size".
std::function<void(const KernelRun&)> index_check(const OperandSpec& spec, std::size_t input,
                                                  std::string_view what, std::int64_t bound);

/// Formats the index of the element at the flat position `position` in a tensor of these sizes, for
/// example "[1, 2]".
std::string index_text(std::int64_t position, const Sizes& sizes);

/// Returns element i of an index tensor (i32 or i64).
inline std::int64_t read_index(const void* data, DType dtype, std::int64_t i) {
  return dtype == DType::i32 ? static_cast<const std::int32_t*>(data)[i]
                             : static_cast<const std::int64_t*>(data)[i];
}

/// Adds dynamic_slice and dynamic_update_slice. Called by IndexOps::add.
void add_dynamic_slice_ops(OpSet& ops);
/// Adds require_offsets. Called by IndexOps::add.
void add_offset_ops(OpSet& ops);
/// Adds require_range. Called by IndexOps::add.
void add_range_ops(OpSet& ops);

}  // namespace weft
