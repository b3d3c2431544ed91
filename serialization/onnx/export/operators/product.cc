// Matrix products.
#include <numeric>

#include "weft/graph/control/scan.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/export/operators.h"

namespace weft::onnx {
namespace {

using Values = std::vector<Value>;

Names export_matmul(const NodeExport& e) {
  const auto operand = [&](std::size_t i, std::string_view transposed) {
    std::string x = e.in(i);
    if (e.type(i).dtype != e.out_type().dtype) x = e.cast(x, e.out_type().dtype);
    if (!e.attributes().flag(transposed)) return x;
    std::vector<std::int64_t> order(static_cast<std::size_t>(e.type(i).shape.rank()));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[order.size() - 2], order[order.size() - 1]);
    return e.add("Transpose", {x}, {{"perm", order}});
  };
  const std::string a = operand(0, "transpose_a"), b = operand(1, "transpose_b");
  return {e.add("MatMul", {a, b})};
}

// A loop over the groups; each product replaces the rows of its group.
Values lower_grouped_matmul(const Node& node, const Values& in, Graph& g) {
  const DType dtype = node.type(0).dtype;
  const Value x = cast(in[0], dtype), w = cast(in[1], dtype), sizes = cast(in[2], DType::i64);
  const Value ends = cumsum(sizes, 0), begins = ends - sizes;
  const Value row = iota(g, Shape{x.shape()[0], Dim(1)}, 0);
  const bool transposed = node.attributes().flag("transpose_w");
  const auto body = [&](Graph&, const ScanElements& group) {
    const Value weight = transposed ? transpose(group.elements[0]) : group.elements[0];
    const Value inside = logical_and(row >= group.elements[1], row < group.elements[2]);
    return ScanStep{{where(inside, matmul(x, weight), group.carries[0])}, {}};
  };
  return scan(g, {zeros(g, dtype, node.type(0).shape)}, {w, begins, ends}, {}, body).carries;
}

constexpr Exporter kProducts[] = {
    {"grouped_matmul", lower_grouped_matmul},
    {"matmul", export_matmul},
};

}  // namespace

std::span<const Exporter> product_exporters() { return kProducts; }

}  // namespace weft::onnx
