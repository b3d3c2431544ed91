// Ops with indices, and sorting.
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/export/operators.h"

namespace weft::onnx {
namespace {

using Values = std::vector<Value>;

Names export_take(const NodeExport& e) {
  return {e.add("Gather", e.inputs(), {{"axis", e.integer("axis")}})};
}

Names export_take_along_axis(const NodeExport& e) {
  return {e.add("GatherElements", e.inputs(), {{"axis", e.integer("axis")}})};
}

Names scattered(const NodeExport& e, std::string_view reduction) {
  const bool is_add = reduction == "add";
  e.require_opset(is_add ? 16 : 18, is_add ? "a sum at indices" : "a maximum at indices");
  return {e.add("ScatterElements", e.inputs(),
                {{"axis", e.integer("axis")}, {"reduction", reduction}})};
}
Names export_scatter_add(const NodeExport& e) { return scattered(e, "add"); }
Names export_scatter_max(const NodeExport& e) { return scattered(e, "max"); }
Names export_scatter_min(const NodeExport& e) { return scattered(e, "min"); }

// Applies `scatter` to rows: repeats each index along the other axes of src.
Value scattered_rows(const Node& node, const Values& in,
                     Value (*scatter)(Arg x, Arg index, Arg src, int axis)) {
  const auto axis = static_cast<int>(node.attributes().integer("axis"));
  const Value &x = in[0], &index = in[1], &src = in[2];
  const Dim count = index.shape().numel();
  std::vector<Dim> shape, ones;
  for (int i = 0; i < x.rank(); ++i) {
    shape.push_back(i == axis ? count : x.shape()[i]);
    ones.push_back(i == axis ? count : Dim(1));
  }
  const Value rows = broadcast_to(reshape(index, Shape(ones)), Shape(shape));
  return scatter(x, rows, reshape(src, Shape(shape)), axis);
}
Values lower_index_add(const Node& node, const Values& in, Graph&) {
  return {scattered_rows(node, in, scatter_add)};
}
Values lower_index_max(const Node& node, const Values& in, Graph&) {
  return {scattered_rows(node, in, scatter_max)};
}
Values lower_index_min(const Node& node, const Values& in, Graph&) {
  return {scattered_rows(node, in, scatter_min)};
}

Values lower_one_hot(const Node& node, const Values& in, Graph& g) {
  const Attributes& a = node.attributes();
  const Value classes = arange(g, a.dim("classes"), in[0].dtype());
  return {cast(equal(unsqueeze(in[0], -1), classes), a.dtype("dtype"))};
}

// Slice would have a result of unknown size.
Values lower_dynamic_slice(const Node& node, const Values& in, Graph& g) {
  const Shape& sizes = node.attributes().shape("sizes");
  Value x = in[0];
  for (int axis = 0; axis < sizes.rank(); ++axis) {
    if (sizes[axis] == x.shape()[axis]) continue;
    x = take(x, select(in[1], 0, axis) + arange(g, sizes[axis], in[1].dtype()), axis);
  }
  return {x};
}

// Writes every element of the update at its place.
Names export_dynamic_update_slice(const NodeExport& e) {
  const Names places = e.compute([](const Node&, const Values& in, Graph& g) {
    const Shape& shape = in[1].shape();
    std::vector<Value> axes;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const Value start = cast(select(in[2], 0, axis), DType::i64);
      axes.push_back(iota(g, shape, axis) + start);
    }
    return Values{stack(axes, shape.rank())};
  });
  return {e.add("ScatterND", {e.in(0), places[0], e.in(1)})};
}

Names largest(const NodeExport& e, const std::string& count, bool descending) {
  return e.add(2, "TopK", {e.in(), count},
               {{"axis", e.integer("axis")}, {"largest", std::int64_t{descending ? 1 : 0}}});
}
Names export_topk(const NodeExport& e) {
  return largest(e, e.list({e.integer("k")}), e.attributes().flag("largest"));
}
Names export_sort(const NodeExport& e) {
  const auto axis = static_cast<int>(e.integer("axis"));
  return largest(e, e.graph().size(e.type().shape[axis]), e.attributes().flag("descending"));
}

// Checks of data are not written, and a program without shards has nothing to sum.
Names export_unchecked(const NodeExport& e) { return {e.in()}; }

constexpr Exporter kIndices[] = {
    {"dynamic_slice", lower_dynamic_slice},
    {"dynamic_update_slice", export_dynamic_update_slice},
    {"index_add", lower_index_add},
    {"index_max", lower_index_max},
    {"index_min", lower_index_min},
    {"one_hot", lower_one_hot},
    {"require_offsets", export_unchecked},
    {"require_range", export_unchecked},
    {"scatter_add", export_scatter_add},
    {"scatter_max", export_scatter_max},
    {"scatter_min", export_scatter_min},
    {"shard_concat", export_unchecked},
    {"shard_sum", export_unchecked},
    {"sort", export_sort},
    {"take", export_take},
    {"take_along_axis", export_take_along_axis},
    {"topk", export_topk},
};

}  // namespace

std::span<const Exporter> index_exporters() { return kIndices; }

}  // namespace weft::onnx
