#include "weft/ops/indexing/shape_kernel.h"

#include <fmt/format.h>

#include <memory>

#include "weft/core/tensor.h"

namespace weft {

Phase copy_phase(kernels::StridedCopy copy, std::size_t input, std::int64_t src_offset,
                 std::int64_t dst_offset, std::size_t element_size, bool skip_same) {
  Phase phase;
  phase.chunks = copy.chunks();
  phase.cost_ns = copy.cost_ns();
  const auto size = static_cast<std::int64_t>(element_size);
  phase.body = [copy = std::make_shared<const kernels::StridedCopy>(std::move(copy)), input,
                src_bytes = src_offset * size, dst_bytes = dst_offset * size,
                skip_same](const KernelRun& run, std::int64_t chunk) {
    if (skip_same && run.inputs[input] == run.outputs[0]) return;
    copy->run(run.in<std::byte>(input) + src_bytes, run.out<std::byte>(0) + dst_bytes, chunk);
  };
  return phase;
}

Phase clone_phase(const OperandSpec& spec, std::size_t input) {
  const std::size_t size = dtype_size(spec.dtype);
  return copy_phase(kernels::StridedCopy({spec.numel()}, {1}, {1}, size), input, 0, 0, size, true);
}

Phase fill_phase(const OperandSpec& out, double value) {
  const Tensor element = Tensor::scalar(out.dtype, value);
  const std::int64_t count = out.numel();
  const std::size_t size = dtype_size(out.dtype);
  Phase phase;
  phase.chunks = chunk_count(count * static_cast<std::int64_t>(size), 128 * 1024);
  phase.cost_ns = 0.05 * static_cast<double>(count) * static_cast<double>(size);
  phase.body = [element, count, size, chunks = phase.chunks](const KernelRun& run,
                                                             std::int64_t chunk) {
    const auto [begin, end] = chunk_range(count, chunks, chunk, 64);
    kernels::fill(run.outputs[0], begin, end, element.raw(), size);
  };
  return phase;
}

StridedView strided_view(const Sizes& whole, const Sizes& sizes, const Sizes& starts,
                         const std::vector<std::int64_t>& steps) {
  StridedView view{0, row_major_strides(whole)};
  if (num_elements(sizes) == 0) return view;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    view.offset += starts[i] * view.strides[i];
    if (sizes[i] > 1) view.strides[i] *= steps[i];
  }
  return view;
}

Cost movement_cost(const KernelRequest& r) {
  double bytes = 0;
  for (const OperandSpec& out : r.outputs) {
    bytes += 2.0 * static_cast<double>(out.numel()) * static_cast<double>(dtype_size(out.dtype));
  }
  return {0, bytes};
}

int checked_axis(const InferContext& c) {
  const std::int64_t axis = c.attributes().integer("axis");
  if (axis < 0 || axis >= c.rank(0)) {
    throw ShapeError(fmt::format("axis {} is out of range for {} with {} axes", axis,
                                 c.input(0).str(), c.rank(0)));
  }
  return static_cast<int>(axis);
}

}  // namespace weft
