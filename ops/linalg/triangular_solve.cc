// Solves systems of linear equations with triangular matrices by substitution.
#include <fmt/format.h>

#include <algorithm>

#include "weft/ops/builtin.h"
#include "weft/ops/kernels/linalg/factorise.h"
#include "weft/ops/linalg/matrix_list.h"

namespace weft {
namespace {

// The number of columns of the solution that one worker computes at a time. This number of columns
// with 1,000 rows fits into an L2 cache. Columns are independent of each other.
constexpr std::int64_t kColumns = 64;

std::vector<ValueType> infer_solve(const InferContext& c) {
  require_square(c, 0, "t");
  c.require_same_dtype(0, 1);
  c.require_min_rank(1, 2, "b");
  const Shape &t = c.shape(0), &b = c.shape(1);
  if (!c.equal(list_shape(t), list_shape(b))) {
    throw ShapeError(
        fmt::format("t and b must have the same axes before the last two, but {} "
                    "and {} differ",
                    list_shape(t).str(), list_shape(b).str()));
  }
  c.require_equal(t[t.rank() - 1], b[b.rank() - 2], "the size of t and the rows of b");
  return {c.input(1), {DType::i64, list_shape(t)}};
}

kernels::Triangle triangle_of(const Attributes& attributes) {
  return {attributes.flag("upper"), attributes.flag("transpose"), attributes.flag("unit_diagonal")};
}

template <class T>
std::int64_t first_zero_on_diagonal(const T* t, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (t[i * n + i] == T(0)) return i;
  }
  return -1;
}

double solve_flops(double n, double columns) { return n * n * columns; }

template <class T>
Kernel make_solve(const KernelRequest& r) {
  if (!writes(r)) return {};
  const MatrixList list = matrix_list(r.inputs[1].sizes);
  const std::int64_t n = list.rows, columns = list.columns;
  // `failed` must be written even if there are no elements to compute.
  const std::int64_t tiles = n * columns == 0 ? 1 : (columns + kColumns - 1) / kColumns;
  const std::int64_t widest = std::min(columns, kColumns);
  const double flops = solve_flops(static_cast<double>(n), static_cast<double>(widest));
  return unit_kernel(
      list.count * tiles, flops, {{n, widest}, {n}},
      [=, triangle = triangle_of(r.attributes)](const KernelRun& run, std::int64_t unit,
                                                double* scratch) {
        const std::int64_t matrix = unit / tiles, first = unit % tiles * kColumns;
        const std::int64_t width = std::min(kColumns, columns - first);
        const T* const t = run.in<T>(0) + matrix * n * n;
        const std::int64_t failed = triangle.unit ? -1 : first_zero_on_diagonal(t, n);
        if (run.outputs[1] != nullptr && first == 0) run.out<std::int64_t>(1)[matrix] = failed;
        T* const out = part_of_output<T>(run, 0, matrix * n * columns + first);
        if (out == nullptr) return;
        if (failed < 0) {
          const T* const b = run.in<T>(1) + matrix * n * columns + first;
          return kernels::triangular_solve(t, n, triangle, b, out, width, columns, scratch);
        }
        for (std::int64_t i = 0; i < n; ++i) std::fill_n(out + i * columns, width, T(0));
      });
}

Kernel solve_kernel(const KernelRequest& r) {
  return r.inputs[0].dtype == DType::f32 ? make_solve<float>(r) : make_solve<double>(r);
}

Cost solve_cost(const KernelRequest& r) {
  const double columns = static_cast<double>(r.inputs[1].sizes.back());
  Cost cost = factorisation_cost(r, [](double n, double) { return n * n; });
  cost.flops *= columns;
  return cost;
}

}  // namespace

void TriangularSolveOps::add(OpSet& ops) {
  OpRecord r;
  r.name = "triangular_solve";
  r.doc =
      "For each matrix in b [..., n, m], out is the solution X of T X = b, or of T^T X = b if "
      "transpose, and failed is -1. T is the lower or upper triangle of t [..., n, n], with ones "
      "on its diagonal if unit_diagonal. If T is singular, out is zeros and failed is the "
      "index of the first 0 on its diagonal. f32 is computed in double.";
  r.inputs = {{"t"}, {"b"}};
  r.attributes = {{"upper", false}, {"transpose", false}, {"unit_diagonal", false}};
  r.outputs = {"out", "failed"};
  r.infer = infer_solve;
  r.kernel = solve_kernel;
  r.cost = solve_cost;
  ops.add(std::move(r));
}

}  // namespace weft
