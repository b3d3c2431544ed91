// Helpers shared by the index ops for reading and checking indices and for computing the sizes
// around an axis.
#pragma once

#include <algorithm>
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

/// As above, for the index of ops on an axis of x (operand 1), which has size `bound`.
std::function<void(const KernelRun&)> axis_index_check(const OperandSpec& index, std::int64_t bound,
                                                       std::int64_t axis);

/// Returns the shape of take(x, index, axis) for x (operand 0) and index (operand 1), and checks
/// the index.
Shape taken_shape(const InferContext& c);
/// Checks that index (operand 1) has the same sizes as x except along the axis. Returns the axis.
int check_along(const InferContext& c);

/// The number of columns of a block, the unit of work of the ops below.
inline constexpr std::int64_t kIndexColumns = 64;
inline std::int64_t column_blocks(const AxisLines& lines) {
  return std::max<std::int64_t>(1, (lines.inner + kIndexColumns - 1) / kIndexColumns);
}

/// Returns a phase of an op that reads or writes single elements at `count` indices per column. It
/// calls body(run, outer, first column, end column) for all outer slices and blocks of columns.
template <class Body>
Phase along_phase(const AxisLines& lines, std::int64_t count, Body body) {
  constexpr std::int64_t kGrain = 8192;  // elements per chunk
  const std::int64_t blocks = column_blocks(lines);
  const std::int64_t units = lines.outer * blocks;
  const std::int64_t work = lines.outer * count * lines.inner;
  Phase phase;
  phase.chunks = std::clamp<std::int64_t>(units, 1, chunk_count(work, kGrain));
  phase.cost_ns = 1.5 * static_cast<double>(work);
  phase.body = [lines, blocks, units, body, chunks = phase.chunks](const KernelRun& run,
                                                                   std::int64_t chunk) {
    const auto [begin, end] = chunk_range(units, chunks, chunk);
    for (std::int64_t u = begin; u < end; ++u) {
      const auto columns = chunk_range(lines.inner, blocks, u % blocks);
      body(run, u / blocks, columns.begin, columns.end);
    }
  };
  return phase;
}

/// Formats the index of the element at the flat position `position` in a tensor of these sizes, for
/// example "[1, 2]".
std::string index_text(std::int64_t position, const Sizes& sizes);

/// Returns element i of an index tensor (i32 or i64).
inline std::int64_t read_index(const void* data, DType dtype, std::int64_t i) {
  return dtype == DType::i32 ? static_cast<const std::int32_t*>(data)[i]
                             : static_cast<const std::int64_t*>(data)[i];
}

/// Adds index_add, scatter_add and the same ops for maxima and minima. Called by IndexOps::add.
void add_scatter_ops(OpSet& ops);
/// Adds dynamic_slice and dynamic_update_slice. Called by IndexOps::add.
void add_dynamic_slice_ops(OpSet& ops);
/// Adds tensor_scatter. Called by IndexOps::add.
void add_tensor_scatter_ops(OpSet& ops);
/// Adds require_offsets. Called by IndexOps::add.
void add_offset_ops(OpSet& ops);
/// Adds require_range. Called by IndexOps::add.
void add_range_ops(OpSet& ops);

}  // namespace weft
