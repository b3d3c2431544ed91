// The singular value decomposition.
#include <algorithm>

#include "weft/ops/builtin.h"
#include "weft/ops/kernels/linalg/factorise.h"
#include "weft/ops/linalg/matrix_list.h"

namespace weft {
namespace {

std::vector<ValueType> infer_svd(const InferContext& c) {
  c.require_floating(0, "x");
  c.require_min_rank(0, 2, "x");
  const Shape& shape = c.shape(0);
  const int last = shape.rank() - 1;
  const Dim values = min(shape[last - 1], shape[last]);
  Shape u = shape, s = list_shape(shape), vt = shape;
  u[last] = values;
  s.push_back(values);
  vt[last - 1] = values;
  return {{c.dtype(0), u}, {c.dtype(0), s}, {c.dtype(0), vt}};
}

// Returns the estimated FLOPs, assuming about eight sweeps of rotations. Each rotation requires an
// inner product and the rotation of two pairs of rows.
double svd_flops(double rows, double columns) {
  const double m = std::max(rows, columns), n = std::min(rows, columns);
  return 6 * m * n * n + 8 * 7 * n * n * n;
}

template <class T>
Kernel make_svd(const KernelRequest& request) {
  if (!writes(request)) return {};
  const MatrixList list = matrix_list(request.inputs[0].sizes);
  const std::int64_t m = list.rows, n = list.columns, k = std::min(m, n);
  const double flops = svd_flops(static_cast<double>(m), static_cast<double>(n));
  return unit_kernel(list.count, flops, {{2, m, n}, {3, k, k}, {2, k}},
                     [m, n, k](const KernelRun& run, std::int64_t unit, double* scratch) {
                       kernels::svd(run.in<T>(0) + unit * m * n, m, n,
                                    part_of_output<T>(run, 0, unit * m * k),
                                    part_of_output<T>(run, 1, unit * k),
                                    part_of_output<T>(run, 2, unit * k * n), scratch);
                     });
}

Kernel svd_kernel(const KernelRequest& r) {
  return r.inputs[0].dtype == DType::f32 ? make_svd<float>(r) : make_svd<double>(r);
}

Cost svd_cost(const KernelRequest& r) { return factorisation_cost(r, svd_flops); }

}  // namespace

void SvdOps::add(OpSet& ops) {
  OpRecord r;
  r.name = "svd";
  r.doc =
      "x = u diag(s) vt for each matrix in x [..., m, n], with k = min(m, n): u [..., m, k] has "
      "orthonormal columns, vt [..., k, n] has orthonormal rows, s [..., k] is non-negative and "
      "in descending order. The element of largest magnitude in each column of u is positive. "
      "Uses one-sided Jacobi rotations after QR; f32 is computed in double. Values below 2^-480 "
      "of the largest element count as 0. The results for a matrix that contains NaN or "
      "infinity are NaN.";
  r.inputs = {{"x"}};
  r.outputs = {"u", "s", "vt"};
  r.infer = infer_svd;
  r.kernel = svd_kernel;
  r.cost = svd_cost;
  ops.add(std::move(r));
}

}  // namespace weft
