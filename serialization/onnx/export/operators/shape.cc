// Ops that move elements, and tensors that are computed from sizes.
#include <limits>

#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/export/operators.h"

namespace weft::onnx {
namespace {

using Ints = std::vector<std::int64_t>;
using Values = std::vector<Value>;

Names export_permute(const NodeExport& e) {
  if (e.type().shape.rank() == 0) return {e.in()};
  return {e.add("Transpose", {e.in()}, {{"perm", e.attributes().integers("order")}})};
}

Names export_reshape(const NodeExport& e) {
  return {e.reshape(e.in(), e.type().shape, e.out_type().shape)};
}

// Expand broadcasts in both directions, so an axis that keeps its size can have the size 1.
Names export_broadcast_to(const NodeExport& e) {
  const Shape &from = e.type().shape, &to = e.out_type().shape;
  if (from == to) return {e.in()};
  std::vector<Dim> sizes;
  for (int axis = 0; axis < to.rank(); ++axis) {
    const int own = axis - (to.rank() - from.rank());
    sizes.push_back(own >= 0 && from[own] == to[axis] ? Dim(1) : to[axis]);
  }
  return {e.add("Expand", {e.in(), e.graph().sizes(sizes)})};
}

Names export_concat(const NodeExport& e) {
  return {e.add("Concat", e.inputs(), {{"axis", e.integer("axis")}})};
}

Names export_pad(const NodeExport& e) {
  std::vector<Dim> pads = e.attributes().shape("before").dims();
  const std::vector<Dim>& after = e.attributes().shape("after").dims();
  pads.insert(pads.end(), after.begin(), after.end());
  return {e.add("Pad", {e.in(), e.graph().sizes(pads),
                        e.scalar(e.type().dtype, e.attributes().real("value"))})};
}

// A slice of the axes that are not kept as they are.
Names export_slice(const NodeExport& e) {
  const Shape &shape = e.type().shape, &starts = e.attributes().shape("starts"),
              &sizes = e.attributes().shape("sizes");
  const Ints& steps = e.attributes().integers("steps");
  std::vector<Dim> begins, ends;
  Ints axes, strides;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t step = steps[static_cast<std::size_t>(axis)];
    if (starts[axis] == Dim(0) && sizes[axis] == shape[axis] && step == 1) continue;
    Dim end = starts[axis] + (sizes[axis] - 1) * Dim(step) + Dim(step > 0 ? 1 : -1);
    // With a negative step, the end may be -1, which would count from the end of the axis.
    if (step < 0) end = end - shape[axis];
    if (step > 0 && end == shape[axis]) end = std::numeric_limits<std::int64_t>::max();
    begins.push_back(starts[axis]);
    ends.push_back(end);
    axes.push_back(axis);
    strides.push_back(step);
  }
  if (axes.empty()) return {e.in()};
  return {e.add("Slice", {e.in(), e.graph().sizes(begins), e.graph().sizes(ends), e.list(axes),
                          e.list(strides)})};
}

Names export_flip(const NodeExport& e) {
  const Ints& axes = e.attributes().integers("axes");
  if (axes.empty()) return {e.in()};
  const auto each = [&](std::int64_t value) { return e.list(Ints(axes.size(), value)); };
  return {e.add("Slice", {e.in(), each(-1), each(std::numeric_limits<std::int64_t>::min()),
                          e.list(axes), each(-1)})};
}

std::string scalar_of(const NodeExport& e, const Dim& dim) {
  return e.add("Squeeze", {e.graph().size(dim), e.list({0})});
}

Names export_dim_value(const NodeExport& e) {
  const std::string value = scalar_of(e, e.attributes().dim("dim"));
  const DType dtype = e.out_type().dtype;
  return {dtype == DType::i64 ? value : e.cast(value, dtype)};
}

Names export_iota(const NodeExport& e) {
  const Shape& shape = e.out_type().shape;
  const auto axis = static_cast<int>(e.integer("axis"));
  std::string x =
      e.add("Range", {e.scalar(DType::i64, 0), scalar_of(e, shape[axis]), e.scalar(DType::i64, 1)});
  if (e.out_type().dtype != DType::i64) x = e.cast(x, e.out_type().dtype);
  Ints added;
  std::vector<Dim> sizes;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != axis) added.push_back(i);
    sizes.push_back(i == axis ? Dim(1) : shape[i]);
  }
  if (added.empty()) return {x};
  return {e.add("Expand", {e.unsqueeze(x, added), e.graph().sizes(sizes)})};
}

constexpr Exporter kShapes[] = {
    {"broadcast_to", export_broadcast_to},
    {"concat", export_concat},
    {"dim_value", export_dim_value},
    {"flip", export_flip},
    {"iota", export_iota},
    {"pad", export_pad},
    {"permute", export_permute},
    {"reshape", export_reshape},
    {"slice", export_slice},
};

}  // namespace

std::span<const Exporter> shape_exporters() { return kShapes; }

}  // namespace weft::onnx
