// The QR decomposition.
#include <fmt/format.h>

#include "weft/ops/builtin.h"
#include "weft/ops/kernels/linalg/factorise.h"
#include "weft/ops/linalg/matrix_list.h"

namespace weft {
namespace {

std::string too_wide(const Dim& rows, const Dim& columns) {
  return fmt::format("x must have at least as many rows as columns, but has {} and {}", rows.str(),
                     columns.str());
}

std::vector<ValueType> infer_qr(const InferContext& c) {
  c.require_floating(0, "x");
  c.require_min_rank(0, 2, "x");
  Shape r = c.shape(0);
  const Dim rows = r[r.rank() - 2], columns = r[r.rank() - 1];
  if (rows.is_constant() && columns.is_constant() && rows.constant() < columns.constant()) {
    throw ShapeError(too_wide(rows, columns));
  }
  r[r.rank() - 2] = columns;
  return {c.input(0), {c.dtype(0), r}};
}

double qr_flops(double rows, double columns) { return 4 * rows * columns * columns; }

template <class T>
Kernel make_qr(const KernelRequest& request) {
  const Sizes& sizes = request.inputs[0].sizes;
  const std::int64_t m = sizes[sizes.size() - 2], n = sizes.back();
  if (m < n) throw ShapeError(too_wide(m, n));
  if (!writes(request)) return {};
  const MatrixList list = matrix_list(sizes);
  const double flops = qr_flops(static_cast<double>(m), static_cast<double>(n));
  return unit_kernel(list.count, flops, {{2, m, n}, {n}},
                     [m, n](const KernelRun& run, std::int64_t unit, double* scratch) {
                       kernels::qr(run.in<T>(0) + unit * m * n, m, n,
                                   part_of_output<T>(run, 0, unit * m * n),
                                   part_of_output<T>(run, 1, unit * n * n), scratch);
                     });
}

Kernel qr_kernel(const KernelRequest& r) {
  return r.inputs[0].dtype == DType::f32 ? make_qr<float>(r) : make_qr<double>(r);
}

Cost qr_cost(const KernelRequest& r) { return factorisation_cost(r, qr_flops); }

}  // namespace

void QrOps::add(OpSet& ops) {
  OpRecord r;
  r.name = "qr";
  r.doc =
      "x = q r for each matrix in x [..., m, n], m >= n: q [..., m, n] has orthonormal columns, "
      "r [..., n, n] is upper triangular with a non-negative diagonal. Uses Householder "
      "reflections; f32 is computed in double. The results for a matrix that contains NaN or "
      "infinity are NaN.";
  r.inputs = {{"x"}};
  r.outputs = {"q", "r"};
  r.infer = infer_qr;
  r.kernel = qr_kernel;
  r.cost = qr_cost;
  ops.add(std::move(r));
}

}  // namespace weft
