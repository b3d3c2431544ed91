#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/ops/builtin.h"
#include "weft/ops/indexing/index_kernel.h"
#include "weft/ops/indexing/reduce_arg.h"
#include "weft/ops/indexing/shape_kernel.h"
#include "weft/ops/kernels/indexing/sort.h"

namespace weft {
namespace {

std::vector<ValueType> values_and_indices(const InferContext& c, Shape shape) {
  return {{c.dtype(0), shape}, {DType::i64, shape}};
}

void check_k(std::int64_t k, const Dim& n, std::int64_t axis) {
  if (k < 0) throw ArgumentError(fmt::format("k must not be negative, but is {}", k));
  if (n.is_constant() && k > n.constant()) {
    throw ShapeError(fmt::format("cannot select the top {} elements of axis {}, which has size {}",
                                 k, axis, n.constant()));
  }
}

std::vector<ValueType> infer_topk(const InferContext& c) {
  require_numeric(c);
  const int axis = checked_axis(c);
  const std::int64_t k = c.attributes().integer("k");
  check_k(k, c.shape(0)[axis], axis);
  Shape shape = c.shape(0);
  shape[axis] = k;
  return values_and_indices(c, std::move(shape));
}

std::vector<ValueType> infer_sort(const InferContext& c) {
  require_numeric(c);
  checked_axis(c);
  return values_and_indices(c, c.shape(0));
}

Kernel sort_lines(const KernelRequest& r, std::int64_t axis, bool descending, std::int64_t keep) {
  const OperandSpec& x = r.inputs[0];
  const AxisLines lines = lines_around(x.sizes, axis);
  const std::int64_t count = lines.outer * lines.inner;
  const double n = static_cast<double>(lines.length);
  Kernel kernel;
  const std::size_t size = dtype_size(x.dtype);
  const bool has_values = r.has_output(0), has_indices = r.has_output(1);
  kernel.slot_scratch = kernels::sort_scratch(x.dtype, lines.length);
  Phase phase;
  phase.chunks =
      chunk_count(count, std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, lines.length)));
  phase.cost_ns = static_cast<double>(count) * n * (4.0 + 3.0 * std::log2(n + 1.0));
  phase.body = [=, dtype = x.dtype, chunks = phase.chunks](const KernelRun& run,
                                                           std::int64_t chunk) {
    const auto [begin, end] = chunk_range(count, chunks, chunk);
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t o = line / lines.inner, i = line % lines.inner;
      const std::int64_t from = o * lines.length * lines.inner + i;
      const std::int64_t to = o * keep * lines.inner + i;
      // No memory is allocated for outputs without readers.
      std::byte* values =
          has_values ? run.out<std::byte>(0) + static_cast<std::size_t>(to) * size : nullptr;
      std::int64_t* indices = has_indices ? run.out<std::int64_t>(1) + to : nullptr;
      kernels::sort_line(dtype, run.in<std::byte>(0) + static_cast<std::size_t>(from) * size,
                         lines.inner, lines.length, descending, keep, values, indices,
                         run.slot_scratch);
    }
  };
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

Kernel topk_kernel(const KernelRequest& r) {
  const std::int64_t axis = r.attributes.integer("axis"), k = r.attributes.integer("k");
  check_k(k, r.inputs[0].sizes[static_cast<std::size_t>(axis)], axis);
  return sort_lines(r, axis, r.attributes.flag("largest"), k);
}

Kernel sort_kernel(const KernelRequest& r) {
  const std::int64_t axis = r.attributes.integer("axis");
  return sort_lines(r, axis, r.attributes.flag("descending"),
                    r.inputs[0].sizes[static_cast<std::size_t>(axis)]);
}

Cost sort_cost(const KernelRequest& r) {
  const OperandSpec& x = r.inputs[0];
  const auto n =
      static_cast<double>(x.sizes[static_cast<std::size_t>(r.attributes.integer("axis"))]);
  Cost cost = movement_cost(r);
  cost.flops = static_cast<double>(x.numel()) * std::log2(n + 1.0);
  return cost;
}

}  // namespace

void SortOps::add(OpSet& ops) {
  OpRecord topk;
  topk.name = "topk";
  topk.doc =
      "The k largest (or smallest) elements along the axis, in sorted order, and their positions. "
      "The selection is stable, and NaN counts as the largest value.";
  topk.inputs = {{"x"}};
  topk.attributes = {
      {"k", std::int64_t{0}, true}, {"axis", std::int64_t{0}, true}, {"largest", true}};
  topk.outputs = {"values", "indices"};
  topk.infer = infer_topk;
  topk.kernel = topk_kernel;
  topk.cost = sort_cost;
  ops.add(std::move(topk));

  OpRecord sort;
  sort.name = "sort";
  sort.doc =
      "The elements sorted along the axis, and their positions. The sort is stable, and NaN counts "
      "as the largest value.";
  sort.inputs = {{"x"}};
  sort.attributes = {{"axis", std::int64_t{0}, true}, {"descending", false}};
  sort.outputs = {"values", "indices"};
  sort.infer = infer_sort;
  sort.kernel = sort_kernel;
  sort.cost = sort_cost;
  ops.add(std::move(sort));
}

}  // namespace weft
