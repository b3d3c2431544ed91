// Ops that combine elements of src with elements of x at given indices: index_add, index_max and
// index_min for slices, scatter_add, scatter_max and scatter_min for single elements.
#include <string>

#include "weft/ops/indexing/index_kernel.h"
#include "weft/ops/indexing/reduce_arg.h"
#include "weft/ops/indexing/shape_kernel.h"
#include "weft/ops/kernels/indexing/index.h"

namespace weft {
namespace {

using kernels::Combine;
using kernels::Indices;

// -- Slices ---------------------------------------------------------------------------------------

std::vector<ValueType> infer_slices(const InferContext& c) {
  require_numeric(c);
  const Shape shape = taken_shape(c);
  c.require_same_dtype(0, 2);
  c.require_shape(2, shape, "src");
  return {c.input(0)};
}

template <Combine kCombine>
Kernel slices_kernel(const KernelRequest& r) {
  constexpr std::int64_t kGrain = 32768;
  const OperandSpec &x = r.inputs[0], &index = r.inputs[1];
  const std::int64_t axis = r.attributes.integer("axis");
  const AxisLines lines = lines_around(x.sizes, axis);
  const std::int64_t count = index.numel();
  // Every unit of work owns its destination elements and updates them in index order. It owns a
  // block of columns or, if there are few blocks, a block of columns in a range of destination
  // rows. Every range reads all indices, which would take longer than the updates if rows are
  // narrow.
  const std::int64_t blocks = column_blocks(lines);
  const std::int64_t work = count * std::max<std::int64_t>(1, lines.inner);
  const std::int64_t parts = lines.outer * blocks;  // 0 if an axis before `axis` has size 0
  const std::int64_t most = std::min(lines.length / 16, lines.inner / 8);
  const std::int64_t ranges = parts > 0 && parts < 8 && work > kGrain
                                  ? std::clamp<std::int64_t>(most, 1, 8 / parts + 1)
                                  : 1;
  const std::int64_t units = parts * ranges;
  Phase phase;
  phase.chunks = std::clamp<std::int64_t>(units, 1, chunk_count(lines.outer * work, kGrain));
  phase.cost_ns = static_cast<double>(lines.outer) * static_cast<double>(work) * 0.5;
  phase.body = [lines, count, blocks, ranges, units, chunks = phase.chunks, dtype = x.dtype,
                index_dtype = index.dtype](const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(units, chunks, chunk);
    const std::size_t size = dtype_size(dtype);
    for (std::int64_t u = begin; u < end; ++u) {
      const auto rows = chunk_range(lines.length, ranges, u % ranges);
      const auto columns = chunk_range(lines.inner, blocks, u / ranges % blocks, 16);
      const auto o = u / ranges / blocks;
      kernels::combine_rows(
          kCombine, dtype,
          run.in<std::byte>(2) + static_cast<std::size_t>(o * count * lines.inner) * size,
          Indices{run.inputs[1], index_dtype}, count, lines.inner,
          {rows.begin, rows.end, columns.begin, columns.end},
          run.out<std::byte>(0) + static_cast<std::size_t>(o * lines.length * lines.inner) * size);
    }
  };
  Kernel kernel;
  kernel.phases.push_back(clone_phase(x, 0));
  kernel.phases.push_back(std::move(phase));
  kernel.check = axis_index_check(index, lines.length, axis);
  return kernel;
}

// -- Single elements ------------------------------------------------------------------------------

std::vector<ValueType> infer_elements(const InferContext& c) {
  require_numeric(c);
  check_along(c);
  c.require_same_dtype(0, 2);
  c.require_shape(2, c.shape(1), "src");
  return {c.input(0)};
}

template <Combine kCombine>
Kernel elements_kernel(const KernelRequest& r) {
  const OperandSpec &x = r.inputs[0], &index = r.inputs[1];
  const std::int64_t axis = r.attributes.integer("axis");
  const AxisLines lines = lines_around(x.sizes, axis);
  const std::int64_t count = index.sizes[static_cast<std::size_t>(axis)];
  Kernel kernel;
  kernel.phases.push_back(clone_phase(x, 0));
  kernel.phases.push_back(
      along_phase(lines, count,
                  [lines, count, dtype = x.dtype, index_dtype = index.dtype](
                      const KernelRun& run, std::int64_t o, std::int64_t begin, std::int64_t end) {
                    const std::int64_t at = o * count * lines.inner;
                    const std::size_t size = dtype_size(dtype);
                    kernels::combine_along(
                        kCombine, dtype, run.in<std::byte>(2) + static_cast<std::size_t>(at) * size,
                        Indices{run.inputs[1], index_dtype}, at, count, lines.inner, begin, end,
                        run.out<std::byte>(0) +
                            static_cast<std::size_t>(o * lines.length * lines.inner) * size);
                  }));
  kernel.check = axis_index_check(index, lines.length, axis);
  return kernel;
}

// -- Records --------------------------------------------------------------------------------------

OpRecord slices_record(std::string name, std::string doc) {
  OpRecord record;
  record.name = std::move(name);
  record.doc = std::move(doc);
  record.inputs = {{"x"}, {"index"}, {"src"}};
  record.attributes = {{"axis", std::int64_t{0}}};
  record.inplace = {{0, 0}};
  record.infer = infer_slices;
  record.cost = part_cost<2>;
  return record;
}

OpRecord elements_record(std::string name, std::string doc) {
  OpRecord record = slices_record(std::move(name), std::move(doc));
  record.attributes = {{"axis", std::int64_t{0}, true}};
  record.infer = infer_elements;
  return record;
}

std::string slices_doc(const std::string& extreme) {
  return "A copy of x in which the elements that take(x, index, axis) reads are replaced by the " +
         extreme +
         " of themselves and the elements of src at their indices; NaN if any of these is NaN.";
}

std::string elements_doc(const std::string& extreme) {
  return "A copy of x with out[i][index[i][j]] = the " + extreme +
         " of this element and src[i][j] for axis 1, and accordingly for other axes; NaN if either "
         "is NaN.";
}

}  // namespace

void add_scatter_ops(OpSet& ops) {
  OpRecord index_add =
      slices_record("index_add",
                    "A copy of x with src added to the elements that take(x, index, axis) reads. "
                    "Repeated indices accumulate in index order.");
  index_add.kernel = slices_kernel<Combine::add>;
  ops.add(std::move(index_add));

  OpRecord index_max = slices_record("index_max", slices_doc("largest"));
  index_max.kernel = slices_kernel<Combine::max>;
  ops.add(std::move(index_max));

  OpRecord index_min = slices_record("index_min", slices_doc("smallest"));
  index_min.kernel = slices_kernel<Combine::min>;
  ops.add(std::move(index_min));

  OpRecord scatter_add = elements_record(
      "scatter_add",
      "A copy of x with out[i][index[i][j]] += src[i][j] for axis 1, and accordingly for other "
      "axes. Repeated indices accumulate in index order.");
  scatter_add.kernel = elements_kernel<Combine::add>;
  ops.add(std::move(scatter_add));

  OpRecord scatter_max = elements_record("scatter_max", elements_doc("maximum"));
  scatter_max.kernel = elements_kernel<Combine::max>;
  ops.add(std::move(scatter_max));

  OpRecord scatter_min = elements_record("scatter_min", elements_doc("minimum"));
  scatter_min.kernel = elements_kernel<Combine::min>;
  ops.add(std::move(scatter_min));
}

}  // namespace weft
