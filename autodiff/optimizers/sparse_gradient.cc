#include "weft/autodiff/optimizers/sparse_gradient.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/functions/shards.h"
#include "weft/graph/ir/program.h"

namespace weft {
namespace {

bool is_lookup(const Node& node, Value matrix) {
  const auto& inputs = node.inputs();
  return node.op().name == "take" && node.attributes().integer("axis") == 0 &&
         inputs[0] == matrix && std::count(inputs.begin(), inputs.end(), matrix) == 1;
}

Value flat_rows(Value rows) {
  Dim n = 1;
  for (const Dim& d : rows.shape().dims()) n *= d;
  return cast(reshape(rows, Shape{n}), DType::i64);
}

Value flat_values(Value values) {
  Dim n = 1;
  for (int axis = 0; axis + 1 < values.rank(); ++axis) n *= values.size(axis);
  return reshape(values, Shape{n, values.size(-1)});
}

}  // namespace

SparseGradient sparse_gradient(Value rows, Value values, SourceLocation loc) {
  if (!rows.defined())
    throw GraphError(
        fmt::format("sparse_gradient: `rows` is an undefined Value\n  at {}", loc.str()));
  Graph& graph = rows.graph();
  graph.check_owned(values, "values of sparse_gradient", loc);
  Shape expected = rows.shape();
  if (values.rank() > 0) expected.push_back(values.size(-1));
  if (values.rank() != rows.rank() + 1 || !(values.shape() == expected)) {
    graph.fail(
        ShapeError("`values` must have the axes of `rows` and one more axis, for the elements of "
                   "a row"),
        "sparse_gradient", {rows, values}, loc);
  }
  if (rows.dtype() != DType::i32 && rows.dtype() != DType::i64) {
    graph.fail(DTypeError(fmt::format("`rows` must be i32 or i64, but its dtype is {}",
                                      dtype_name(rows.dtype()))),
               "sparse_gradient", {rows, values}, loc);
  }
  const Graph::Frame frame(graph, "sparse_gradient", loc);
  const Value numbers = flat_rows(rows), each = flat_values(values);
  const Dim& n = numbers.size(0);
  // After the stable sort, equal rows are adjacent and in their original order.
  const Sorted sorted = sort(numbers, 0);
  const Value before = concat({full(graph, DType::i64, {1}, -1), sorted.values});
  const Value first = not_equal(sorted.values, slice(before, 0, {.end = n}));
  // For each element, the index (from 0) of the run of equal rows that contains it.
  const Value run = cumsum(cast(first, DType::i64), 0) - 1;
  const Value nothing = zeros(graph, DType::i64, {n});
  return {index_add(nothing, run, where(first, sorted.values, 0)),
          index_add(zeros_like(each), run, take(each, sorted.indices)),
          less(arange(graph, n), sum(cast(first, DType::i64)))};
}

Value dense_gradient(const SparseGradient& gradient, const Dim& count) {
  const Value& values = gradient.values;
  return index_add(zeros(values.graph(), values.dtype(), {count, values.size(1)}), gradient.rows,
                   values);
}

std::vector<Node*> lookups(std::string_view function, Value value, const Variable& matrix,
                           SourceLocation loc) {
  const Value whole = matrix.value();
  std::vector<Node*> found;
  for (Node* node : reachable_nodes({value})) {
    const auto& inputs = node->inputs();
    if (std::find(inputs.begin(), inputs.end(), whole) == inputs.end()) continue;
    if (!is_lookup(*node, whole)) {
      whole.graph().fail(
          ArgumentError(
              fmt::format("{}: the gradient of '{}' is not sparse: this op reads the whole "
                          "matrix instead of single rows with embedding() or take() along axis 0",
                          function, matrix.name())),
          *node);
    }
    found.push_back(node);
  }
  if (found.empty()) {
    throw ArgumentError(
        fmt::format("{}: '{}' should have a sparse gradient, but the loss reads none of its rows "
                    "with embedding() or take()\n  {}",
                    function, matrix.name(), whole.graph().describe_source(loc)));
  }
  return found;
}

SparseGradient joined_gradient(const std::vector<Node*>& lookups,
                               const std::vector<Value>& gradients,
                               const std::vector<Value>& sharded_results, SourceLocation loc) {
  std::vector<Value> rows, values;
  for (std::size_t i = 0; i < lookups.size(); ++i) {
    values.push_back(flat_values(gradients[i]));
    const Value own = flat_rows(lookups[i]->input(1));
    const bool of_shard = std::find(sharded_results.begin(), sharded_results.end(),
                                    lookups[i]->output(0)) != sharded_results.end();
    rows.push_back(of_shard ? shard_concat_as(values.back().size(0), own) : own);
  }
  if (rows.size() == 1) return sparse_gradient(rows[0], values[0], loc);
  return sparse_gradient(concat(rows, 0), concat(values, 0), loc);
}

}  // namespace weft
