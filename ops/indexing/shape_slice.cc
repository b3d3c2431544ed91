#include "weft/ops/indexing/shape_slice.h"

#include <fmt/format.h>

#include <memory>
#include <type_traits>

#include "weft/core/integer_range.h"
#include "weft/ops/indexing/reduce_arg.h"
#include "weft/ops/indexing/shape_kernel.h"

namespace weft {
namespace {

using kernels::StridedCopy;

/// Checks that the `size` positions start, start + step, ... are inside an axis of size n, to the
/// extent that these values are constant.
void check_positions(int axis, const Dim& start, const Dim& size, std::int64_t step, const Dim& n) {
  if (step == 0) throw ArgumentError(fmt::format("axis {}: the step must not be 0", axis));
  if (!size.is_constant()) return;
  if (size.constant() < 0) {
    throw ShapeError(fmt::format("axis {}: the slice has {} elements", axis, size.str()));
  }
  if (size.constant() == 0) return;
  const Dim last = start + (size - 1) * Dim(step);
  for (const Dim& place : {start, last}) {
    // This is also constant if, for example, `place` is "seq - 1" and the axis has size seq.
    const Dim room = n - place;
    const bool below = place.is_constant() && place.constant() < 0;
    const bool above = room.is_constant() && room.constant() <= 0;
    if (below || above) {
      throw ShapeError(fmt::format(
          "axis {}: the slice reads from {} to {} with step {}, which is outside [0, {})", axis,
          start.str(), last.str(), step, n.str()));
    }
  }
}

void check_length(int rank, std::size_t starts, std::size_t steps) {
  if (static_cast<int>(starts) != rank || static_cast<int>(steps) != rank) {
    throw ArgumentError(fmt::format(
        "starts, sizes and steps must have one entry for each of the {} axes, but {} and "
        "{} are given",
        rank, starts, steps));
  }
}

void check_slice(const Shape& starts, const Shape& sizes, const std::vector<std::int64_t>& steps,
                 const Shape& shape) {
  check_length(shape.rank(), static_cast<std::size_t>(starts.rank()), steps.size());
  check_length(shape.rank(), static_cast<std::size_t>(sizes.rank()), steps.size());
  for (int i = 0; i < shape.rank(); ++i) {
    check_positions(i, starts[i], sizes[i], steps[static_cast<std::size_t>(i)], shape[i]);
  }
}

// -- slice and unslice ----------------------------------------------------------------------------

std::vector<ValueType> infer_slice(const InferContext& c) {
  const Shape& sizes = c.attributes().shape("sizes");
  check_slice(c.attributes().shape("starts"), sizes, c.attributes().integers("steps"), c.shape(0));
  return {{c.dtype(0), sizes}};
}

Kernel slice_kernel(const KernelRequest& r) {
  const OperandSpec &x = r.inputs[0], &out = r.outputs[0];
  const Shape& starts = r.attributes.shape("starts");
  const auto& steps = r.attributes.integers("steps");
  check_slice(starts, Shape(out.sizes), steps, Shape(x.sizes));
  const auto view = strided_view(x.sizes, out.sizes, starts.constant(), steps);
  const std::size_t size = dtype_size(x.dtype);
  Kernel kernel;
  kernel.phases.push_back(
      copy_phase(StridedCopy(out.sizes, view.strides, row_major_strides(out.sizes), size), 0,
                 view.offset, 0, size));
  return kernel;
}

std::vector<ValueType> infer_unslice(const InferContext& c) {
  const Shape& shape = c.attributes().shape("shape");
  c.require_rank(0, shape.rank(), "g");
  check_slice(c.attributes().shape("starts"), c.shape(0), c.attributes().integers("steps"), shape);
  return {{c.dtype(0), shape}};
}

Kernel unslice_kernel(const KernelRequest& r) {
  const OperandSpec &g = r.inputs[0], &out = r.outputs[0];
  const Shape& starts = r.attributes.shape("starts");
  const auto& steps = r.attributes.integers("steps");
  check_slice(starts, Shape(g.sizes), steps, Shape(out.sizes));
  Kernel kernel;
  kernel.phases.push_back(fill_phase(out, 0));
  if (g.numel() == 0) return kernel;
  const auto view = strided_view(out.sizes, g.sizes, starts.constant(), steps);
  const std::size_t size = dtype_size(g.dtype);
  kernel.phases.push_back(
      copy_phase(StridedCopy(g.sizes, row_major_strides(g.sizes), view.strides, size), 0, 0,
                 view.offset, size));
  return kernel;
}

// -- slice_add ------------------------------------------------------------------------------------

std::vector<ValueType> infer_slice_add(const InferContext& c) {
  require_numeric(c);
  c.require_same_dtype(0, 1);
  c.require_rank(1, c.rank(0), "g");
  check_slice(c.attributes().shape("starts"), c.shape(1), c.attributes().integers("steps"),
              c.shape(0));
  return {c.input(0)};
}

// The positions of the elements of g in out, as rows along the last axis that has more than one
// element.
struct SlicePositions {
  Sizes sizes, strides;  // of the axes other than the row axis
  std::int64_t offset = 0, length = 1, stride = 1;

  SlicePositions(const Sizes& g, StridedView view) : offset(view.offset) {
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (g[i] == 1) continue;
      // Merge axes that are contiguous in both arrays.
      if (!sizes.empty() && strides.back() == g[i] * view.strides[i]) {
        sizes.back() *= g[i];
        strides.back() = view.strides[i];
      } else {
        sizes.push_back(g[i]);
        strides.push_back(view.strides[i]);
      }
    }
    if (sizes.empty()) return;
    length = sizes.back();
    stride = strides.back();
    sizes.pop_back();
    strides.pop_back();
  }
  /// Returns the offset of the first element of a row.
  std::int64_t row(std::int64_t number) const {
    std::int64_t at = offset;
    for (std::size_t i = sizes.size(); i-- > 0; number /= sizes[i]) {
      at += number % sizes[i] * strides[i];
    }
    return at;
  }
};

template <class T>
void add_row(const T* g, std::int64_t count, std::int64_t stride, T* out) {
  const auto plus = [](T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return a + b;
    } else {  // wraps around
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    }
  };
  if (stride == 1) {
    for (std::int64_t j = 0; j < count; ++j) out[j] = plus(out[j], g[j]);
  } else {
    for (std::int64_t j = 0; j < count; ++j) out[j * stride] = plus(out[j * stride], g[j]);
  }
}

template <class T>
Phase add_phase(const OperandSpec& g, SlicePositions places) {
  const std::int64_t n = g.numel();
  Phase phase;
  phase.chunks = chunk_count(n, 16384);
  phase.cost_ns = 0.4 * static_cast<double>(n);
  phase.body = [places = std::make_shared<const SlicePositions>(std::move(places)), n,
                chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    auto [begin, end] = chunk_range(n, chunks, chunk, 64);
    while (begin < end) {
      const std::int64_t column = begin % places->length;
      const std::int64_t count = std::min(places->length - column, end - begin);
      add_row(run.in<T>(1) + begin, count, places->stride,
              run.out<T>(0) + places->row(begin / places->length) + column * places->stride);
      begin += count;
    }
  };
  return phase;
}

Phase add_phase(const OperandSpec& g, SlicePositions places) {
  switch (g.dtype) {
    case DType::f32: return add_phase<float>(g, std::move(places));
    case DType::f64: return add_phase<double>(g, std::move(places));
    case DType::i64: return add_phase<std::int64_t>(g, std::move(places));
    case DType::i32: return add_phase<std::int32_t>(g, std::move(places));
    case DType::i8: return add_phase<std::int8_t>(g, std::move(places));
    default: return add_phase<std::uint8_t>(g, std::move(places));
  }
}

Kernel slice_add_kernel(const KernelRequest& r) {
  const OperandSpec &x = r.inputs[0], &g = r.inputs[1];
  const Shape& starts = r.attributes.shape("starts");
  const auto& steps = r.attributes.integers("steps");
  check_slice(starts, Shape(g.sizes), steps, Shape(x.sizes));
  Kernel kernel;
  kernel.phases.push_back(clone_phase(x, 0));
  if (g.numel() == 0) return kernel;
  kernel.phases.push_back(add_phase(
      g, SlicePositions(g.sizes, strided_view(x.sizes, g.sizes, starts.constant(), steps))));
  return kernel;
}

// -- pad ------------------------------------------------------------------------------------------

std::vector<ValueType> infer_pad(const InferContext& c) {
  const Shape &before = c.attributes().shape("before"), &after = c.attributes().shape("after");
  if (before.rank() != c.rank(0) || after.rank() != c.rank(0)) {
    throw ArgumentError(
        fmt::format("before {} and after {} must have one entry for each of the {} axes of {}",
                    before.str(), after.str(), c.rank(0), c.input(0).str()));
  }
  check_representable(c.attributes().real("value"), c.dtype(0));
  Shape shape = c.shape(0);
  for (int i = 0; i < c.rank(0); ++i) {
    for (const Dim& d : {before[i], after[i]}) {
      if (d.is_constant() && d.constant() < 0) {
        throw ShapeError(fmt::format(
            "axis {}: padding {} is negative; use slice() to remove elements", i, d.str()));
      }
    }
    shape[i] = before[i] + shape[i] + after[i];
  }
  return {{c.dtype(0), std::move(shape)}};
}

Kernel pad_kernel(const KernelRequest& r) {
  const OperandSpec &x = r.inputs[0], &out = r.outputs[0];
  const Sizes before = r.attributes.shape("before").constant();
  const Sizes after = r.attributes.shape("after").constant();
  const Sizes strides = row_major_strides(out.sizes);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < x.sizes.size(); ++i) {
    if (before[i] < 0 || after[i] < 0) {
      throw ShapeError(
          fmt::format("axis {}: padding {} is negative; use slice() to remove elements", i,
                      before[i] < 0 ? before[i] : after[i]));
    }
    offset += before[i] * strides[i];
  }
  Kernel kernel;
  if (x.sizes != out.sizes) kernel.phases.push_back(fill_phase(out, r.attributes.real("value")));
  if (x.numel() == 0) {
    if (kernel.phases.empty()) kernel.phases.push_back(fill_phase(out, 0));
    return kernel;
  }
  const std::size_t size = dtype_size(x.dtype);
  kernel.phases.push_back(copy_phase(
      StridedCopy(x.sizes, row_major_strides(x.sizes), strides, size), 0, 0, offset, size));
  return kernel;
}

}  // namespace

void add_slice_ops(OpSet& ops) {
  OpRecord slice;
  slice.name = "slice";
  slice.doc = "out[i] = x[starts + i * steps] on every axis; steps may be negative.";
  slice.inputs = {{"x"}};
  slice.attributes = {{"starts", Shape(), true},
                      {"sizes", Shape(), true},
                      {"steps", std::vector<std::int64_t>{}, true}};
  slice.infer = infer_slice;
  slice.kernel = slice_kernel;
  slice.cost = movement_cost;
  ops.add(std::move(slice));

  OpRecord unslice;
  unslice.name = "unslice";
  unslice.doc = "Zeros of `shape` with out[starts + i * steps] = g[i]: the adjoint of slice.";
  unslice.inputs = {{"g"}};
  unslice.attributes = {{"shape", Shape(), true},
                        {"starts", Shape(), true},
                        {"steps", std::vector<std::int64_t>{}, true}};
  unslice.infer = infer_unslice;
  unslice.kernel = unslice_kernel;
  unslice.cost = movement_cost;
  ops.add(std::move(unslice));

  OpRecord add;
  add.name = "slice_add";
  add.doc =
      "A copy of x with g added to a slice of the size of g: out[starts + i * steps] = x[...] + "
      "g[i]. Used to accumulate the gradients of several slices of a tensor in one buffer.";
  add.inputs = {{"x"}, {"g"}};
  add.attributes = {{"starts", Shape(), true}, {"steps", std::vector<std::int64_t>{}, true}};
  add.inplace = {{0, 0}};
  add.infer = infer_slice_add;
  add.kernel = slice_add_kernel;
  add.cost = part_cost<1>;
  ops.add(std::move(add));

  OpRecord pad;
  pad.name = "pad";
  pad.doc = "Adds `before` and `after` elements of `value` around x.";
  pad.inputs = {{"x"}};
  pad.attributes = {{"before", Shape(), true}, {"after", Shape(), true}, {"value", 0.0}};
  pad.infer = infer_pad;
  pad.kernel = pad_kernel;
  pad.cost = movement_cost;
  ops.add(std::move(pad));
}

}  // namespace weft
