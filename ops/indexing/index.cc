#include <fmt/format.h>

#include <algorithm>

#include "weft/ops/builtin.h"
#include "weft/ops/indexing/index_kernel.h"
#include "weft/ops/indexing/reduce_arg.h"
#include "weft/ops/indexing/shape_kernel.h"
#include "weft/ops/kernels/indexing/index.h"

namespace weft {
namespace {

using kernels::Indices;

constexpr std::int64_t kIndexColumns = 64;
constexpr std::int64_t kGrain = 32768;

// -- take -----------------------------------------------------------------------------------------

Shape taken_shape(const InferContext& c) {
  const int axis = checked_axis(c);
  c.require_index(1, "index");
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(c.shape(0)[i]);
  for (const Dim& d : c.shape(1)) shape.push_back(d);
  for (int i = axis + 1; i < c.rank(0); ++i) shape.push_back(c.shape(0)[i]);
  return shape;
}

std::vector<ValueType> infer_take(const InferContext& c) { return {{c.dtype(0), taken_shape(c)}}; }

std::string axis_has(std::int64_t axis) { return fmt::format("axis {} of x has size", axis); }

Kernel take_kernel(const KernelRequest& r) {
  const OperandSpec &x = r.inputs[0], &index = r.inputs[1];
  const std::int64_t axis = r.attributes.integer("axis");
  const AxisLines lines = lines_around(x.sizes, axis);
  const std::int64_t count = index.numel();
  const std::size_t row_bytes = static_cast<std::size_t>(lines.inner) * dtype_size(x.dtype);
  const std::int64_t rows = lines.outer * count;
  Phase phase;
  phase.chunks = chunk_count(
      rows, std::max<std::int64_t>(1, 65536 / static_cast<std::int64_t>(row_bytes + 8)));
  phase.cost_ns = static_cast<double>(rows) * (3.0 + 0.1 * static_cast<double>(row_bytes));
  phase.body = [lines, count, rows, row_bytes, dtype = index.dtype, chunks = phase.chunks](
                   const KernelRun& run, std::int64_t chunk) {
    auto [begin, end] = chunk_range(rows, chunks, chunk);
    while (begin < end) {
      const std::int64_t o = begin / count, first = begin % count;
      const std::int64_t last = std::min(count, first + end - begin);
      kernels::take_rows(
          run.in<std::byte>(0) + static_cast<std::size_t>(o * lines.length) * row_bytes,
          Indices{run.inputs[1], dtype}, first, last, row_bytes,
          run.out<std::byte>(0) + static_cast<std::size_t>(o * count) * row_bytes);
      begin += last - first;
    }
  };
  Kernel kernel;
  kernel.phases.push_back(std::move(phase));
  kernel.check = index_check(index, 1, axis_has(axis), lines.length);
  return kernel;
}

// -- index_add ------------------------------------------------------------------------------------

std::vector<ValueType> infer_index_add(const InferContext& c) {
  require_numeric(c);
  const Shape shape = taken_shape(c);
  c.require_same_dtype(0, 2);
  c.require_shape(2, shape, "src");
  return {c.input(0)};
}

Kernel index_add_kernel(const KernelRequest& r) {
  const OperandSpec &x = r.inputs[0], &index = r.inputs[1];
  const std::int64_t axis = r.attributes.integer("axis");
  const AxisLines lines = lines_around(x.sizes, axis);
  const std::int64_t count = index.numel();
  // Every unit of work owns its destination elements and adds to them in index order. It owns a
  // block of columns or, if rows are narrow, a block of columns in a range of destination rows.
  const std::int64_t blocks =
      std::max<std::int64_t>(1, (lines.inner + kIndexColumns - 1) / kIndexColumns);
  const std::int64_t work = count * std::max<std::int64_t>(1, lines.inner);
  const std::int64_t parts = lines.outer * blocks;  // 0 if an axis before `axis` has size 0
  const std::int64_t ranges = parts > 0 && parts < 8 && work > kGrain
                                  ? std::clamp<std::int64_t>(lines.length / 16, 1, 8 / parts + 1)
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
      kernels::add_rows(
          dtype, run.in<std::byte>(2) + static_cast<std::size_t>(o * count * lines.inner) * size,
          Indices{run.inputs[1], index_dtype}, count, lines.inner,
          {rows.begin, rows.end, columns.begin, columns.end},
          run.out<std::byte>(0) + static_cast<std::size_t>(o * lines.length * lines.inner) * size);
    }
  };
  Kernel kernel;
  kernel.phases.push_back(clone_phase(x, 0));
  kernel.phases.push_back(std::move(phase));
  kernel.check = index_check(index, 1, axis_has(axis), lines.length);
  return kernel;
}

// -- take_along_axis and scatter_add --------------------------------------------------------------

/// Checks that index (operand 1) has the same sizes as x except along the axis. Returns the axis.
int check_along(const InferContext& c) {
  const int axis = checked_axis(c);
  c.require_index(1, "index");
  bool fits = c.rank(1) == c.rank(0);
  for (int i = 0; fits && i < c.rank(0); ++i) {
    fits = i == axis || c.equal(c.shape(0)[i], c.shape(1)[i]);
  }
  if (!fits) {
    throw ShapeError(fmt::format("index {} must have the same sizes as x {} except along axis {}",
                                 c.shape(1).str(), c.shape(0).str(), axis));
  }
  return axis;
}

std::vector<ValueType> infer_take_along(const InferContext& c) {
  check_along(c);
  return {{c.dtype(0), c.shape(1)}};
}

std::vector<ValueType> infer_scatter_add(const InferContext& c) {
  require_numeric(c);
  check_along(c);
  c.require_same_dtype(0, 2);
  c.require_shape(2, c.shape(1), "src");
  return {c.input(0)};
}

/// Returns a phase that calls body(run, outer, first column, end column) for all outer slices and
/// blocks of columns.
template <class Body>
Phase along_phase(const AxisLines& lines, std::int64_t count, Body body) {
  const std::int64_t blocks =
      std::max<std::int64_t>(1, (lines.inner + kIndexColumns - 1) / kIndexColumns);
  const std::int64_t units = lines.outer * blocks;
  const std::int64_t work = lines.outer * count * lines.inner;
  Phase phase;
  phase.chunks = std::clamp<std::int64_t>(units, 1, chunk_count(work, kGrain / 4));
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

Kernel take_along_kernel(const KernelRequest& r) {
  const OperandSpec &x = r.inputs[0], &index = r.inputs[1];
  const std::int64_t axis = r.attributes.integer("axis");
  const AxisLines lines = lines_around(x.sizes, axis);
  const std::int64_t count = index.sizes[static_cast<std::size_t>(axis)];
  const std::size_t size = dtype_size(x.dtype);
  Kernel kernel;
  kernel.phases.push_back(along_phase(
      lines, count,
      [lines, count, size, dtype = index.dtype](const KernelRun& run, std::int64_t o,
                                                std::int64_t begin, std::int64_t end) {
        const std::int64_t at = o * count * lines.inner;
        kernels::take_along(
            size,
            run.in<std::byte>(0) + static_cast<std::size_t>(o * lines.length * lines.inner) * size,
            Indices{run.inputs[1], dtype}, at, count, lines.inner, begin, end,
            run.out<std::byte>(0) + static_cast<std::size_t>(at) * size);
      }));
  kernel.check = index_check(index, 1, axis_has(axis), lines.length);
  return kernel;
}

Kernel scatter_add_kernel(const KernelRequest& r) {
  const OperandSpec &x = r.inputs[0], &index = r.inputs[1];
  const std::int64_t axis = r.attributes.integer("axis");
  const AxisLines lines = lines_around(x.sizes, axis);
  const std::int64_t count = index.sizes[static_cast<std::size_t>(axis)];
  Kernel kernel;
  kernel.phases.push_back(clone_phase(x, 0));
  kernel.phases.push_back(along_phase(
      lines, count,
      [lines, count, dtype = x.dtype, index_dtype = index.dtype](
          const KernelRun& run, std::int64_t o, std::int64_t begin, std::int64_t end) {
        const std::int64_t at = o * count * lines.inner;
        const std::size_t size = dtype_size(dtype);
        kernels::add_along(dtype, run.in<std::byte>(2) + static_cast<std::size_t>(at) * size,
                           Indices{run.inputs[1], index_dtype}, at, count, lines.inner, begin, end,
                           run.out<std::byte>(0) +
                               static_cast<std::size_t>(o * lines.length * lines.inner) * size);
      }));
  kernel.check = index_check(index, 1, axis_has(axis), lines.length);
  return kernel;
}

// -- one_hot --------------------------------------------------------------------------------------

std::vector<ValueType> infer_one_hot(const InferContext& c) {
  c.require_index(0, "ids");
  const Dim& classes = c.attributes().dim("classes");
  if (classes.is_constant() && classes.constant() < 0) {
    throw ShapeError(fmt::format("classes must not be negative, but is {}", classes.str()));
  }
  Shape shape = c.shape(0);
  shape.push_back(classes);
  return {{c.attributes().dtype("dtype"), std::move(shape)}};
}

Kernel one_hot_kernel(const KernelRequest& r) {
  const OperandSpec &ids = r.inputs[0], &out = r.outputs[0];
  const std::int64_t classes = out.sizes.back(), rows = ids.numel();
  const Tensor one = Tensor::scalar(out.dtype, 1);
  const std::size_t size = dtype_size(out.dtype);
  Phase phase;
  phase.chunks = chunk_count(rows * classes, kGrain);
  phase.cost_ns = static_cast<double>(rows) * (3.0 + 0.1 * static_cast<double>(classes));
  phase.body = [classes, rows, one, size, dtype = ids.dtype, chunks = phase.chunks](
                   const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(rows, chunks, chunk);
    for (std::int64_t i = begin; i < end; ++i) {
      std::byte* row = run.out<std::byte>(0) + static_cast<std::size_t>(i * classes) * size;
      std::fill_n(row, static_cast<std::size_t>(classes) * size, std::byte{0});
      const std::int64_t id = read_index(run.inputs[0], dtype, i);
      kernels::fill(row, id, id + 1, one.raw(), size);
    }
  };
  Kernel kernel;
  kernel.phases.push_back(std::move(phase));
  kernel.check = index_check(ids, 0, "the number of classes is", classes);
  return kernel;
}

}  // namespace

AxisLines lines_around(const Sizes& sizes, std::int64_t axis) {
  AxisLines lines;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    (at < axis ? lines.outer : at == axis ? lines.length : lines.inner) *= sizes[i];
  }
  return lines;
}

std::string index_text(std::int64_t position, const Sizes& sizes) {
  Sizes index(sizes.size());
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    index[axis] = position % sizes[axis];
    position /= sizes[axis];
  }
  return to_string(index);
}

std::function<void(const KernelRun&)> index_check(const OperandSpec& spec, std::size_t input,
                                                  std::string_view what, std::int64_t bound) {
  return [input, bound, what = std::string(what), dtype = spec.dtype,
          count = spec.numel()](const KernelRun& run) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t value = read_index(run.inputs[input], dtype, i);
      if (value >= 0 && value < bound) continue;
      throw DataError(
          fmt::format("index {} at position {} is out of range: {} {}", value, i, what, bound));
    }
  };
}

void IndexOps::add(OpSet& ops) {
  OpRecord take;
  take.name = "take";
  take.doc =
      "Selects slices of x along the axis. The result has shape x.shape[:axis] + index.shape + "
      "x.shape[axis+1:].";
  take.inputs = {{"x"}, {"index"}};
  take.attributes = {{"axis", std::int64_t{0}}};
  take.infer = infer_take;
  take.kernel = take_kernel;
  take.cost = movement_cost;
  ops.add(std::move(take));

  OpRecord index_add;
  index_add.name = "index_add";
  index_add.doc =
      "A copy of x with src added to the elements that take(x, index, axis) reads. Repeated "
      "indices accumulate in index order.";
  index_add.inputs = {{"x"}, {"index"}, {"src"}};
  index_add.attributes = {{"axis", std::int64_t{0}}};
  index_add.inplace = {{0, 0}};
  index_add.infer = infer_index_add;
  index_add.kernel = index_add_kernel;
  index_add.cost = part_cost<2>;
  ops.add(std::move(index_add));

  OpRecord take_along;
  take_along.name = "take_along_axis";
  take_along.doc = "out[i][j] = x[i][index[i][j]] for axis 1, and accordingly for other axes.";
  take_along.inputs = {{"x"}, {"index"}};
  take_along.attributes = {{"axis", std::int64_t{0}, true}};
  take_along.infer = infer_take_along;
  take_along.kernel = take_along_kernel;
  take_along.cost = movement_cost;
  ops.add(std::move(take_along));

  OpRecord scatter_add;
  scatter_add.name = "scatter_add";
  scatter_add.doc =
      "A copy of x with out[i][index[i][j]] += src[i][j] for axis 1, and accordingly for other "
      "axes. Repeated indices accumulate in index order.";
  scatter_add.inputs = {{"x"}, {"index"}, {"src"}};
  scatter_add.attributes = {{"axis", std::int64_t{0}, true}};
  scatter_add.inplace = {{0, 0}};
  scatter_add.infer = infer_scatter_add;
  scatter_add.kernel = scatter_add_kernel;
  scatter_add.cost = part_cost<2>;
  ops.add(std::move(scatter_add));

  OpRecord one_hot;
  one_hot.name = "one_hot";
  one_hot.doc =
      "Appends an axis of size `classes` along which the result is 1 at the id and 0 elsewhere.";
  one_hot.inputs = {{"ids"}};
  one_hot.attributes = {{"classes", Dim(), true}, {"dtype", DType::f32}};
  one_hot.infer = infer_one_hot;
  one_hot.kernel = one_hot_kernel;
  one_hot.gradient = Gradient::none;
  one_hot.no_gradient_reason = "its operand holds integers";
  ops.add(std::move(one_hot));

  add_dynamic_slice_ops(ops);
  add_offset_ops(ops);
  add_range_ops(ops);
}

}  // namespace weft
