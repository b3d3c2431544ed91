// Matrix products and determinants.
#include <map>

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/einsum.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/dims.h"
#include "weft/serialization/onnx/import/operators/numeric.h"

namespace weft::onnx {
namespace {

// Returns the product of matrices, with the dtype of a. Integers wrap around; their products are
// materialised one by one, because matmul() computes with floating-point numbers.
Value product(Value a, Value b, const MatmulOptions& options = {}) {
  if (!is_integer(a.dtype())) return cast(matmul(a, b, options), a.dtype());
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (options.transpose_a) a = transpose(a);
  if (options.transpose_b) b = transpose(b);
  a = unsqueeze(row ? unsqueeze(a, 0) : a, -1);     // [..., M, K, 1]
  b = unsqueeze(column ? unsqueeze(b, 1) : b, -3);  // [..., 1, K, N]
  Value result = sum(a * b, -2);
  if (column) result = squeeze(result, -1);
  return row ? squeeze(result, column ? -1 : -2) : result;
}

std::vector<ImportedValue> matrix_product(NodeImport& n) {
  const Value a = n.input(0), b = n.input(1);
  if (a.rank() >= 2 && b.rank() >= 2) {
    require_equal(n, a.size(-1), b.size(-2));
    require_broadcast(n, {a, b}, 2);
  }
  return {product(a, b)};
}

std::vector<ImportedValue> gemm(NodeImport& n) {
  const Value a = n.input(0), b = n.input(1), c = n.optional(2);
  const double alpha = n.real("alpha", 1), beta = n.real("beta", 1);
  const MatmulOptions options{.transpose_a = n.flag("transA"), .transpose_b = n.flag("transB")};
  if (n.opset() < 7) n.skip_attribute("broadcast");
  require_equal(n, a.size(options.transpose_a ? 0 : 1), b.size(options.transpose_b ? 1 : 0));
  const bool integers = is_integer(a.dtype());
  Value y = integers ? product(a, b, options) : matmul(a, b, options);
  const auto scaled = [&](Value v, double factor) {
    if (factor == 1) return v;
    if (!integers) return v * factor;
    return cast(cast(v, DType::f64) * factor, v.dtype());
  };
  y = scaled(y, alpha);
  if (c.defined() && beta != 0) {
    require_broadcast(n, {y, c});
    y = y + scaled(cast(c, y.dtype()), beta);
  }
  return {cast(y, a.dtype())};
}

// Requires that axes with the same label have equal sizes.
void require_labels(NodeImport& n, const std::string& equation, const std::vector<Value>& xs) {
  std::vector<Shape> shapes;
  for (const Value x : xs) shapes.push_back(x.shape());
  const auto subscripts = einsum_detail::parse_equation(equation, shapes);
  std::map<int, Dim> sizes;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (int axis = 0; axis < shapes[i].rank(); ++axis) {
      const Dim& size = shapes[i][axis];
      if (size == Dim(1)) continue;  // broadcasts
      const auto label = subscripts.operands[i][static_cast<std::size_t>(axis)];
      require_equal(n, sizes.emplace(label, size).first->second, size);
    }
  }
}

// Integers are computed in f64, which is exact below 2^53.
std::vector<ImportedValue> einstein_sum(NodeImport& n) {
  const std::string equation = n.text("equation", "");
  std::vector<Value> operands;
  for (const Value x : n.inputs()) {
    operands.push_back(is_integer(x.dtype()) ? cast(x, DType::f64) : widened(x));
  }
  require_labels(n, equation, operands);
  return {cast(einsum(equation, operands), n.input(0).dtype())};
}

// Gaussian elimination with partial pivoting. Rows stay in their places; `free` is 1 for the rows
// that have not been a pivot row. The sign of the permutation is that of the number of free rows
// before each pivot row.
Value determinant(Value x) {
  Graph& graph = x.graph();
  const std::int64_t size = x.size(-1).constant();
  Shape vector(std::vector<Dim>(x.shape().begin(), x.shape().end() - 1));
  Shape scalar(std::vector<Dim>(x.shape().begin(), x.shape().end() - 2));
  const Value position = arange(graph, size);
  Value free = ones(graph, x.dtype(), vector);
  Value result = ones(graph, x.dtype(), scalar);
  for (std::int64_t k = 0; k < size; ++k) {
    const Value column = select(x, -1, 0) * free;  // [..., rows]
    const Value pivot_row = argmax(where(free > 0, abs(column), -1), -1, true);
    const Value is_pivot = cast(equal(position, pivot_row), x.dtype());
    const Value before = sum(free * cast(position < pivot_row, x.dtype()), -1);
    const Value pivot = sum(column * is_pivot, -1);  // [...]
    const Value odd = before - 2 * floor(0.5 * before);
    result = result * pivot * (1 - 2 * odd);
    free = free - is_pivot;
    if (k + 1 == size) break;
    const Value rest = slice(x, -1, {.begin = Dim(1)});  // [..., rows, columns]
    const Value row = sum(rest * unsqueeze(is_pivot, -1), -2, true);
    const Value divisor = unsqueeze(where(equal(pivot, 0), 1, pivot), -1);
    x = rest - unsqueeze(column * free / divisor, -1) * row;
  }
  return result;
}

std::vector<ImportedValue> det(NodeImport& n) {
  const Value x = n.input(0);
  // Elimination of n rows takes n steps, each with its own nodes.
  if (x.rank() < 2 || x.size(-1) != x.size(-2) || !x.size(-1).is_constant() ||
      x.size(-1).constant() > 256) {
    n.unsupported("matrices of shape " + x.shape().str());
  }
  return {cast(determinant(widened(x)), x.dtype())};
}

constexpr Operator kProducts[] = {
    {"MatMul", 1, matrix_product},
    {"Gemm", 6, gemm},
    {"Einsum", 12, einstein_sum},
    {"Det", 11, det},
};

}  // namespace

std::span<const Operator> product_operators() { return kProducts; }

}  // namespace weft::onnx
