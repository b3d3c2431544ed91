#include "weft/graph/functions/index.h"

#include <fmt/format.h>

#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

Value source_of(const Arg& src, const Value& x, std::string_view function) {
  return src.value_as(x.graph(), x.dtype(), function);
}

// Combines src with x at the positions that take(x, index, axis) reads.
Value at_slices(std::string_view op, const Arg& x, const Arg& index, const Arg& src, int axis) {
  const Value v = x.value(op), i = index.value_as(v.graph(), DType::i64, op);
  const std::int64_t at = resolve_axis(axis, v, op, x.location());
  return v.graph().apply(op, {v, i, source_of(src, v, op)}, {{"axis", at}}, x.location()).output(0);
}

// Combines src with x at the positions that take_along_axis(x, index, axis) reads.
Value at_elements(std::string_view op, const Arg& x, const Arg& index, const Arg& src, int axis) {
  const Value v = x.value(op), i = index.value(op);
  const std::int64_t at = resolve_axis(axis, v, op, x.location());
  return v.graph().apply(op, {v, i, source_of(src, v, op)}, {{"axis", at}}, x.location()).output(0);
}

Sorted sorted(Node& node) { return {node.output(0), node.output(1)}; }

}  // namespace

Value take(Arg x, Arg index, int axis) {
  const Value v = x.value("take"), i = index.value_as(v.graph(), DType::i64, "take");
  const std::int64_t at = resolve_axis(axis, v, "take", x.location());
  return v.graph().apply("take", {v, i}, {{"axis", at}}, x.location()).output(0);
}

Value index_add(Arg x, Arg index, Arg src, int axis) {
  return at_slices("index_add", x, index, src, axis);
}
Value index_max(Arg x, Arg index, Arg src, int axis) {
  return at_slices("index_max", x, index, src, axis);
}
Value index_min(Arg x, Arg index, Arg src, int axis) {
  return at_slices("index_min", x, index, src, axis);
}

Value take_along_axis(Arg x, Arg index, int axis) {
  const Value v = x.value("take_along_axis"), i = index.value("take_along_axis");
  const std::int64_t at = resolve_axis(axis, v, "take_along_axis", x.location());
  return v.graph().apply("take_along_axis", {v, i}, {{"axis", at}}, x.location()).output(0);
}

Value scatter_add(Arg x, Arg index, Arg src, int axis) {
  return at_elements("scatter_add", x, index, src, axis);
}
Value scatter_max(Arg x, Arg index, Arg src, int axis) {
  return at_elements("scatter_max", x, index, src, axis);
}
Value scatter_min(Arg x, Arg index, Arg src, int axis) {
  return at_elements("scatter_min", x, index, src, axis);
}

Value one_hot(Arg ids, const Dim& classes, DType dtype) {
  const Value v = ids.value("one_hot");
  return v.graph()
      .apply("one_hot", {v}, {{"classes", classes}, {"dtype", dtype}}, ids.location())
      .output(0);
}

Value embedding(Arg ids, Arg weight, std::optional<std::int64_t> padding_idx) {
  const Value index = ids.value("embedding"), table = weight.value("embedding");
  Graph& graph = table.graph();
  if (table.rank() != 2) {
    graph.fail(ShapeError(fmt::format("weight must be [vocabulary, width], but is {}",
                                      table.shape().str())),
               "embedding", {index, table}, ids.location());
  }
  const Dim& vocabulary = table.shape()[0];
  if (padding_idx &&
      (*padding_idx < 0 || (vocabulary.is_constant() && *padding_idx >= vocabulary.constant()))) {
    graph.fail(ArgumentError(fmt::format("padding_idx {} is not a row of weight, which has {} rows",
                                         *padding_idx, vocabulary.str())),
               "embedding", {index, table}, ids.location());
  }
  const Graph::Frame frame(graph, "embedding", ids.location());
  const Value rows = take(table, index, 0);
  if (!padding_idx) return rows;
  const Value padded = unsqueeze(apply_binary("equal", index, *padding_idx), -1);
  return graph.apply("where", {padded, apply_unary("stop_gradient", rows), rows}).output(0);
}

Value dynamic_slice(Arg x, Arg start, const Shape& sizes) {
  const Value v = x.value("dynamic_slice"), s = start.value("dynamic_slice");
  return v.graph().apply("dynamic_slice", {v, s}, {{"sizes", sizes}}, x.location()).output(0);
}

Value dynamic_update_slice(Arg x, Arg update, Arg start) {
  const Value v = x.value("dynamic_update_slice"), u = update.value("dynamic_update_slice");
  const Value s = start.value("dynamic_update_slice");
  return v.graph().apply("dynamic_update_slice", {v, u, s}, {}, x.location()).output(0);
}

Value tensor_scatter(Arg x, Arg update, Arg start, const TensorScatterOptions& options) {
  const Value v = x.value("tensor_scatter"), u = update.value("tensor_scatter");
  const Value s = start.value("tensor_scatter");
  const std::int64_t axis = resolve_axis(options.axis, v, "tensor_scatter", x.location());
  return v.graph()
      .apply("tensor_scatter", {v, u, s, options.rows.value()},
             {{"axis", axis}, {"circular", options.circular}}, x.location())
      .output(0);
}

Sorted topk(Arg x, std::int64_t k, int axis, bool largest) {
  const Value v = x.value("topk");
  const std::int64_t at = resolve_axis(axis, v, "topk", x.location());
  return sorted(
      v.graph().apply("topk", {v}, {{"k", k}, {"axis", at}, {"largest", largest}}, x.location()));
}

Sorted sort(Arg x, int axis, bool descending) {
  const Value v = x.value("sort");
  const std::int64_t at = resolve_axis(axis, v, "sort", x.location());
  return sorted(
      v.graph().apply("sort", {v}, {{"axis", at}, {"descending", descending}}, x.location()));
}

Value argsort(Arg x, int axis, bool descending) {
  return sort(std::move(x), axis, descending).indices;
}

Value masked_fill(Arg x, Arg mask, Arg value) {
  const Value v = x.value("masked_fill"), m = mask.value("masked_fill");
  return v.graph()
      .apply("where", {m, value.value_as(v.graph(), v.dtype(), "masked_fill"), v}, {}, x.location())
      .output(0);
}

}  // namespace weft
