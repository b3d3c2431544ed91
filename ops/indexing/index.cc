#include <fmt/format.h>

#include <algorithm>

#include "weft/ops/builtin.h"
#include "weft/ops/indexing/index_kernel.h"
#include "weft/ops/indexing/shape_kernel.h"
#include "weft/ops/kernels/indexing/index.h"

namespace weft {
namespace {

using kernels::Indices;

constexpr std::int64_t kGrain = 32768;

// -- take -----------------------------------------------------------------------------------------

std::vector<ValueType> infer_take(const InferContext& c) { return {{c.dtype(0), taken_shape(c)}}; }

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
  kernel.check = axis_index_check(index, lines.length, axis);
  return kernel;
}

// -- take_along_axis ------------------------------------------------------------------------------

std::vector<ValueType> infer_take_along(const InferContext& c) {
  check_along(c);
  return {{c.dtype(0), c.shape(1)}};
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
  kernel.check = axis_index_check(index, lines.length, axis);
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

/// Returns true if all indices are in [0, bound). The loop has no branches, so that checks of many
/// indices cost less than the ops that use them.
template <class T>
bool all_below(const T* index, std::int64_t count, std::int64_t bound) {
  bool valid = true;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t value = index[i];
    valid &= value >= 0 && value < bound;
  }
  return valid;
}

}  // namespace

Shape taken_shape(const InferContext& c) {
  const int axis = checked_axis(c);
  c.require_index(1, "index");
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(c.shape(0)[i]);
  for (const Dim& d : c.shape(1)) shape.push_back(d);
  for (int i = axis + 1; i < c.rank(0); ++i) shape.push_back(c.shape(0)[i]);
  return shape;
}

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
    const bool valid = dtype == DType::i32 ? all_below(run.in<std::int32_t>(input), count, bound)
                                           : all_below(run.in<std::int64_t>(input), count, bound);
    for (std::int64_t i = 0; !valid && i < count; ++i) {
      const std::int64_t value = read_index(run.inputs[input], dtype, i);
      if (value >= 0 && value < bound) continue;
      throw DataError(
          fmt::format("index {} at position {} is out of range: {} {}", value, i, what, bound));
    }
  };
}

std::function<void(const KernelRun&)> axis_index_check(const OperandSpec& index, std::int64_t bound,
                                                       std::int64_t axis) {
  return index_check(index, 1, fmt::format("axis {} of x has size", axis), bound);
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

  OpRecord take_along;
  take_along.name = "take_along_axis";
  take_along.doc = "out[i][j] = x[i][index[i][j]] for axis 1, and accordingly for other axes.";
  take_along.inputs = {{"x"}, {"index"}};
  take_along.attributes = {{"axis", std::int64_t{0}, true}};
  take_along.infer = infer_take_along;
  take_along.kernel = take_along_kernel;
  take_along.cost = movement_cost;
  ops.add(std::move(take_along));

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

  add_scatter_ops(ops);
  add_dynamic_slice_ops(ops);
  add_tensor_scatter_ops(ops);
  add_offset_ops(ops);
  add_range_ops(ops);
}

}  // namespace weft
