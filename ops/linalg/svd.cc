// The singular value decomposition.
#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/ops/builtin.h"
#include "weft/ops/kernels/linalg/factorise.h"
#include "weft/ops/linalg/matrix_list.h"
#include "weft/ops/sample_data.h"
#include "weft/ops/samples.h"

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

// Flips the signs of columns of u [n, m] and v [n, k] so that in each of the n columns of u, the
// element with the largest magnitude is positive. If several elements have the largest magnitude,
// the first one is positive.
void fix_signs(double* u, std::int64_t m, double* v, std::int64_t k, std::int64_t n) {
  for (std::int64_t c = 0; c < n; ++c) {
    double* const column = u + c * m;
    const double largest = *std::max_element(
        column, column + m, [](double a, double b) { return std::fabs(a) < std::fabs(b); });
    if (!(largest < 0)) continue;
    for (std::int64_t i = 0; i < m; ++i) column[i] = -column[i];
    for (std::int64_t i = 0; i < k; ++i) v[c * k + i] = -v[c * k + i];
  }
}

// The outputs for one matrix. Pointers are null for outputs without readers.
template <class T>
struct Parts {
  T *u, *s, *vt;
  std::int64_t rows, values, columns;

  Parts(const KernelRun& run, const MatrixList& list, std::int64_t matrix)
      : rows(list.rows), values(std::min(list.rows, list.columns)), columns(list.columns) {
    u = at(run, 0, matrix * rows * values);
    s = at(run, 1, matrix * values);
    vt = at(run, 2, matrix * values * columns);
  }
  static T* at(const KernelRun& run, std::size_t output, std::int64_t offset) {
    return run.outputs[output] == nullptr ? nullptr : run.out<T>(output) + offset;
  }

  void fill(T value) const {
    if (u != nullptr) std::fill_n(u, rows * values, value);
    if (s != nullptr) std::fill_n(s, values, value);
    if (vt != nullptr) std::fill_n(vt, values * columns, value);
  }
};

template <class T>
Kernel make_svd(const KernelRequest& request) {
  if (!writes(request)) return {};
  const MatrixList list = matrix_list(request.inputs[0].sizes);
  // If a matrix has fewer rows than columns, its transpose is decomposed.
  const bool wide = list.rows < list.columns;
  const std::int64_t m = std::max(list.rows, list.columns), n = std::min(list.rows, list.columns);
  const double flops = svd_flops(static_cast<double>(m), static_cast<double>(n));
  return unit_kernel(
      list.count, flops, {{n, m}, {n, n}, {n}, {kernels::svd_scratch(m, n)}},
      [=](const KernelRun& run, std::int64_t unit, double* a) {
        double *const other = a + n * m, *const s = other + n * n, *const rest = s + n;
        const T* const x = run.in<T>(0) + unit * list.numel();
        const Parts<T> out(run, list, unit);
        const double scale = scale_of(x, list.numel());
        if (scale == 0) return out.fill(std::numeric_limits<T>::quiet_NaN());
        if (wide) {
          for (std::int64_t i = 0; i < n * m; ++i) a[i] = scale * static_cast<double>(x[i]);
        } else {
          load_columns(x, list, scale, a);
        }
        kernels::svd(a, m, n, s, other, rest);
        double *const u = wide ? other : a, *const v = wide ? a : other;
        fix_signs(u, list.rows, v, list.columns, n);
        if (out.u != nullptr) store_columns(u, {1, list.rows, n}, out.u);
        for (std::int64_t i = 0; out.s != nullptr && i < n; ++i) {
          out.s[i] = static_cast<T>(s[i] / scale);
        }
        for (std::int64_t i = 0; out.vt != nullptr && i < n * list.columns; ++i) {
          out.vt[i] = static_cast<T>(v[i]);
        }
      });
}

Kernel svd_kernel(const KernelRequest& r) {
  return r.inputs[0].dtype == DType::f32 ? make_svd<float>(r) : make_svd<double>(r);
}

Cost svd_cost(const KernelRequest& r) { return factorisation_cost(r, svd_flops); }

std::vector<OpSample> svd_samples() {
  return {
      {{sample_uniform({5, 3}, 1)}, {}},
      {{sample_uniform({3, 6}, 2)}, {}},
      {{sample_uniform({2, 3, 3}, 33)}, {}},
      {{sample_uniform({2, 1, 4, 2}, 4)}, {}},
      {{sample_uniform({3, 1, 4}, 5)}, {}},
      {{sample_uniform({12, 9}, 6)}, {}},
      {{Tensor::zeros(DType::f32, {3, 2})}, {}, {0}},  // equal singular values
      {{sample_uniform({0, 3, 2}, 7)}, {}},
      {{sample_uniform({2, 3, 0}, 8)}, {}},
  };
}

std::vector<OpErrorSample> svd_errors() {
  return {{{{DType::f32, {3}}}, {}, "x must have at least 2 axes, but f32[3] has 1"},
          {{{DType::boolean, {3, 3}}}, {}, "x must be f32 or f64, but is bool"}};
}

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

void SvdOps::add(OpSamples& all) { all.add("svd", svd_samples, svd_errors); }

}  // namespace weft
