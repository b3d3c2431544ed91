#include <fmt/format.h>

#include <algorithm>

#include "weft/ops/builtin.h"
#include "weft/ops/indexing/shape_kernel.h"
#include "weft/ops/indexing/shape_slice.h"

namespace weft {
namespace {

using kernels::StridedCopy;

Kernel kernel_of(Phase phase) {
  Kernel kernel;
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

// -- reshape --------------------------------------------------------------------------------------

std::vector<ValueType> infer_reshape(const InferContext& c) {
  const Shape& shape = c.attributes().shape("shape");
  for (const Dim& d : shape) {
    if (d.is_constant() && d.constant() < 0) {
      throw ShapeError(
          fmt::format("cannot reshape to {}: sizes must not be negative", shape.str()));
    }
  }
  const Dim from = c.shape(0).numel(), to = shape.numel();
  if (!c.equal(from, to)) {
    const bool constant = from.is_constant() && to.is_constant();
    throw ShapeError(fmt::format("cannot reshape {} to {}: {} and {} elements {}", c.shape(0).str(),
                                 shape.str(), from.str(), to.str(),
                                 constant ? "differ" : "cannot be proven equal"));
  }
  return {{c.dtype(0), shape}};
}

// -- permute --------------------------------------------------------------------------------------

std::vector<ValueType> infer_permute(const InferContext& c) {
  const auto& order = c.attributes().integers("order");
  std::vector<bool> seen(order.size(), false);
  bool legal = static_cast<int>(order.size()) == c.rank(0);
  for (const std::int64_t axis : order) {
    legal = legal && axis >= 0 && axis < c.rank(0) && !seen[static_cast<std::size_t>(axis)];
    if (legal) seen[static_cast<std::size_t>(axis)] = true;
  }
  if (!legal) {
    throw ShapeError(fmt::format("order [{}] must contain each of the {} axes of {} once",
                                 fmt::join(order, ", "), c.rank(0), c.input(0).str()));
  }
  Shape shape;
  for (const std::int64_t axis : order) shape.push_back(c.shape(0)[static_cast<int>(axis)]);
  return {{c.dtype(0), std::move(shape)}};
}

Kernel permute_kernel(const KernelRequest& r) {
  const OperandSpec &x = r.inputs[0], &out = r.outputs[0];
  const Sizes x_strides = row_major_strides(x.sizes);
  Sizes strides;
  for (const std::int64_t axis : r.attributes.integers("order")) {
    strides.push_back(x_strides[static_cast<std::size_t>(axis)]);
  }
  const std::size_t size = dtype_size(x.dtype);
  return kernel_of(copy_phase(StridedCopy(out.sizes, strides, row_major_strides(out.sizes), size),
                              0, 0, 0, size));
}

// -- broadcast_to ---------------------------------------------------------------------------------

std::vector<ValueType> infer_broadcast_to(const InferContext& c) {
  const Shape &from = c.shape(0), &to = c.attributes().shape("shape");
  const int extra = to.rank() - from.rank();
  if (extra < 0) {
    throw ShapeError(
        fmt::format("cannot broadcast {} to {}, which has fewer axes", from.str(), to.str()));
  }
  for (const Dim& d : to) {
    if (d.is_constant() && d.constant() < 0) {
      throw ShapeError(fmt::format("cannot broadcast to {}: sizes must not be negative", to.str()));
    }
  }
  for (int i = 0; i < from.rank(); ++i) {
    const Dim &a = from[i], &b = to[i + extra];
    if (a == Dim(1) || c.equal(a, b)) continue;
    const bool constant = a.is_constant() && b.is_constant();
    throw ShapeError(
        fmt::format("cannot broadcast {} to {}: axis {} has size {}, which is neither 1 nor {}{}",
                    from.str(), to.str(), i, a.str(), constant ? "" : "provably ", b.str()));
  }
  return {{c.dtype(0), to}};
}

Kernel broadcast_to_kernel(const KernelRequest& r) {
  const OperandSpec &x = r.inputs[0], &out = r.outputs[0];
  const Sizes x_strides = row_major_strides(x.sizes);
  Sizes strides(out.sizes.size(), 0);
  const std::size_t extra = out.sizes.size() - x.sizes.size();
  for (std::size_t i = 0; i < x.sizes.size(); ++i) {
    if (x.sizes[i] != 1) strides[extra + i] = x_strides[i];
  }
  const std::size_t size = dtype_size(x.dtype);
  return kernel_of(copy_phase(StridedCopy(out.sizes, strides, row_major_strides(out.sizes), size),
                              0, 0, 0, size));
}

// -- concat ---------------------------------------------------------------------------------------

std::vector<ValueType> infer_concat(const InferContext& c) {
  if (c.input_count() == 0) throw ArgumentError("needs at least one operand, but has none");
  const int axis = checked_axis(c);
  Shape shape = c.shape(0);
  for (int i = 1; i < c.input_count(); ++i) {
    c.require_same_dtype(0, i);
    bool same = c.rank(i) == c.rank(0);
    for (int k = 0; same && k < c.rank(0); ++k) {
      same = k == axis || c.equal(c.shape(0)[k], c.shape(i)[k]);
    }
    if (!same) {
      throw ShapeError(fmt::format(
          "cannot concatenate {} (operand 0) and {} (operand {}) along axis {}: the other "
          "axes must be equal",
          c.shape(0).str(), c.shape(i).str(), i, axis));
    }
    shape[axis] += c.shape(i)[axis];
  }
  return {{c.dtype(0), std::move(shape)}};
}

Kernel concat_kernel(const KernelRequest& r) {
  const auto axis = static_cast<std::size_t>(r.attributes.integer("axis"));
  const OperandSpec& out = r.outputs[0];
  const Sizes out_strides = row_major_strides(out.sizes);
  const std::size_t size = dtype_size(out.dtype);
  // Use a single phase for all operands, so that many small operands do not need a phase each.
  std::vector<Phase> parts;
  std::vector<std::int64_t> ends;
  Phase phase;
  phase.chunks = 0;
  std::int64_t position = 0;
  for (std::size_t i = 0; i < r.inputs.size(); ++i) {
    const OperandSpec& x = r.inputs[i];
    parts.push_back(copy_phase(StridedCopy(x.sizes, row_major_strides(x.sizes), out_strides, size),
                               i, 0, position * out_strides[axis], size));
    position += x.sizes[axis];
    phase.chunks += parts.back().chunks;
    phase.cost_ns += parts.back().cost_ns;
    ends.push_back(phase.chunks);
  }
  phase.body = [parts = std::move(parts), ends = std::move(ends)](const KernelRun& run,
                                                                  std::int64_t chunk) {
    const auto part =
        static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), chunk) - ends.begin());
    parts[part].body(run, part == 0 ? chunk : chunk - ends[part - 1]);
  };
  return kernel_of(std::move(phase));
}

// -- flip -----------------------------------------------------------------------------------------

std::vector<ValueType> infer_flip(const InferContext& c) {
  const auto& axes = c.attributes().integers("axes");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= c.rank(0)) {
      throw ShapeError(fmt::format("axis {} is out of range for {} with {} axes", axes[i],
                                   c.input(0).str(), c.rank(0)));
    }
    if (std::count(axes.begin(), axes.end(), axes[i]) > 1) {
      throw ArgumentError(fmt::format("axis {} is given twice", axes[i]));
    }
  }
  return {c.input(0)};
}

Kernel flip_kernel(const KernelRequest& r) {
  const OperandSpec& x = r.inputs[0];
  const Sizes dense = row_major_strides(x.sizes);
  Sizes strides = dense;
  std::int64_t offset = 0;
  for (const std::int64_t a : r.attributes.integers("axes")) {
    const auto axis = static_cast<std::size_t>(a);
    offset += (x.sizes[axis] - 1) * dense[axis];
    strides[axis] = -dense[axis];
  }
  if (x.numel() == 0) offset = 0;
  const std::size_t size = dtype_size(x.dtype);
  return kernel_of(copy_phase(StridedCopy(x.sizes, strides, dense, size), 0, offset, 0, size));
}

}  // namespace

void ShapeOps::add(OpSet& ops) {
  OpRecord reshape;
  reshape.name = "reshape";
  reshape.doc =
      "Returns the elements in the same order with a different shape. The result shares the memory "
      "of x.";
  reshape.inputs = {{"x"}};
  reshape.attributes = {{"shape", Shape(), true}};
  reshape.traits = Trait::alias;
  reshape.infer = infer_reshape;
  ops.add(std::move(reshape));

  OpRecord permute;
  permute.name = "permute";
  permute.doc = "Axis i of the result is axis order[i] of x.";
  permute.inputs = {{"x"}};
  permute.attributes = {{"order", std::vector<std::int64_t>{}, true}};
  permute.infer = infer_permute;
  permute.kernel = permute_kernel;
  permute.cost = movement_cost;
  ops.add(std::move(permute));

  OpRecord broadcast_to;
  broadcast_to.name = "broadcast_to";
  broadcast_to.doc = "Repeats axes of size 1 and adds leading axes, as in NumPy.";
  broadcast_to.inputs = {{"x"}};
  broadcast_to.attributes = {{"shape", Shape(), true}};
  broadcast_to.infer = infer_broadcast_to;
  broadcast_to.kernel = broadcast_to_kernel;
  broadcast_to.cost = movement_cost;
  ops.add(std::move(broadcast_to));

  OpRecord concat;
  concat.name = "concat";
  concat.doc = "Joins operands along an axis; all other axes must have equal sizes.";
  concat.inputs = {{"x", Arity::variadic}};
  concat.attributes = {{"axis", std::int64_t{0}, true}};
  concat.infer = infer_concat;
  concat.kernel = concat_kernel;
  concat.cost = movement_cost;
  ops.add(std::move(concat));

  OpRecord flip;
  flip.name = "flip";
  flip.doc = "Reverses the order along the axes.";
  flip.inputs = {{"x"}};
  flip.attributes = {{"axes", std::vector<std::int64_t>{}, true}};
  flip.infer = infer_flip;
  flip.kernel = flip_kernel;
  flip.cost = movement_cost;
  ops.add(std::move(flip));

  add_slice_ops(ops);
}

}  // namespace weft
