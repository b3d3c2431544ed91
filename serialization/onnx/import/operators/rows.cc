#include "weft/serialization/onnx/import/operators/rows.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/operators/numeric.h"

namespace weft::onnx {
namespace {

/// Returns the position of the last element of row [K] that equals r, for each of `rows` numbers r,
/// or -1 if there is none.
Value last_positions(Value row, const Dim& rows) {
  Graph& graph = row.graph();
  return index_max(full(graph, DType::i64, Shape{rows}, -1), row, arange(graph, row.shape()[0]));
}

/// Returns values[position] for rows with a position, and the rows of `otherwise` for others.
Value rows_at(Value position, Value values, Arg otherwise) {
  const Value found = unsqueeze(greater_equal(position, 0), 1);
  return where(found, take(values, maximum(position, 0)), otherwise);
}

/// Returns the products of the updates of each of `rows` rows, 1 for rows without updates: equal
/// row numbers are sorted together, and a segmented prefix product takes log2(K) steps.
Value row_products(NodeImport& n, Value row, Value updates, const Dim& rows) {
  const Dim count = row.shape()[0];
  if (!count.is_constant()) n.unsupported("reduction 'mul' of a symbolic number of updates");
  const Value order = argsort(row);
  const Value key = take(row, order);
  Value product = take(updates, order);
  for (std::int64_t step = 1; step < count.constant(); step *= 2) {
    const weft::Slice head{0, count - step, 1}, tail{step, count, 1};
    const Value same = unsqueeze(equal(slice(key, 0, head), slice(key, 0, tail)), 1);
    const Value longer = mul(slice(product, 0, tail), where(same, slice(product, 0, head), 1));
    product = concat({slice(product, 0, {0, step, 1}), longer});
  }
  return rows_at(last_positions(key, rows), product, 1);
}

}  // namespace

Value wrapped_index(NodeImport& n, Value index, const Dim& size) {
  if (auto known = n.known(index)) {
    const Tensor wide = known->to(DType::i64);
    const auto elements = wide.span<std::int64_t>();
    const bool negative =
        std::any_of(elements.begin(), elements.end(), [](std::int64_t i) { return i < 0; });
    if (!negative) return index;
    if (size.is_constant()) {
      Tensor wrapped = wide.clone();
      auto* out = wrapped.mutable_data<std::int64_t>();
      for (std::int64_t i = 0; i < wrapped.numel(); ++i)
        if (out[i] < 0) out[i] += size.constant();
      return n.graph().constant(wrapped);
    }
  }
  const Value from_end = size.is_constant() ? add(index, size.constant())
                                            : add(index, dim_value(n.graph(), size, index.dtype()));
  return where(less(index, 0), from_end, index);
}

Value row_numbers(NodeImport& n, const std::vector<Value>& index, const std::vector<Dim>& sizes) {
  Dim stride = 1;
  Value rows;
  for (std::size_t i = index.size(); i-- > 0;) {
    Value part = wrapped_index(n, index[i], sizes[i]);
    if (index.size() > 1) {
      // The table checks the range of each index, which their sum would hide.
      Value table = arange(n.graph(), sizes[i]);
      if (stride != Dim(1)) table = mul(table, dim_value(n.graph(), stride));
      part = take(table, part);
    }
    rows = rows.defined() ? add(part, rows) : part;
    stride *= sizes[i];
  }
  return rows;
}

Value scatter_rows(NodeImport& n, Value x, Value row, Value updates, const std::string& reduction) {
  if (row.shape()[0] == Dim(0)) return x;
  if (reduction == "none") return rows_at(last_positions(row, x.shape()[0]), updates, x);
  const Value wide = widened(x), source = widened(updates);
  Value out;
  if (reduction == "add") {
    out = index_add(wide, row, source);
  } else if (reduction == "max") {
    out = index_max(wide, row, source);
  } else if (reduction == "min") {
    out = index_min(wide, row, source);
  } else if (reduction == "mul") {
    out = mul(wide, row_products(n, row, source, x.shape()[0]));
  } else {
    n.unsupported("reduction '" + reduction + "'");
  }
  return cast(out, x.dtype());
}

}  // namespace weft::onnx
