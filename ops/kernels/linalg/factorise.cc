// Eigen computes on one thread and does not query the cache sizes of the CPU, which would change
// the order of sums. With the compiler flags of this folder, results have the same bits on all
// CPUs. Renaming the namespace keeps the inline functions of this file apart from those of a
// program that uses Eigen with other flags and links Weft statically.
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_CPUID
#define Eigen weft_eigen

#include "weft/ops/kernels/linalg/factorise.h"

#include <Eigen/Cholesky>
#include <Eigen/Householder>
#include <Eigen/Jacobi>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace weft::kernels {
namespace {

using Eigen::Index;
using Matrix = Eigen::Map<Eigen::MatrixXd>;
using Vector = Eigen::Map<Eigen::VectorXd>;

template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
auto elements(T* x, Index rows, Index columns) {
  return Eigen::Map<RowMajor<T>>(x, rows, columns);
}
template <class T>
auto elements(const T* x, Index rows, Index columns) {
  return Eigen::Map<const RowMajor<T>>(x, rows, columns);
}

// Divides scratch into matrices and vectors.
struct Scratch {
  double* at;
  double* take(Index size) { return std::exchange(at, at + size); }
  Matrix matrix(Index rows, Index columns) { return {take(rows * columns), rows, columns}; }
  Vector vector(Index size) { return {take(size), size}; }
};

// Returns a power of two that scales the largest of n elements to about 1, so that squares neither
// overflow nor underflow. Returns 0 if an element is infinite or NaN.
template <class T>
double scale_of(const T* x, Index n) {
  const auto sizes = Eigen::Map<const Eigen::ArrayX<T>>(x, n).abs();
  const double largest = static_cast<double>(sizes.template maxCoeff<Eigen::PropagateNaN>());
  if (!std::isfinite(largest)) return 0;
  // The exponent is limited because the reciprocal of the smallest numbers would be infinite.
  return largest == 0 ? 1 : std::ldexp(1.0, std::min(-std::ilogb(largest), 1000));
}

template <class T>
void fill_with_nan(T* x, Index n) {
  if (x != nullptr) std::fill_n(x, n, std::numeric_limits<T>::quiet_NaN());
}

// Replaces the upper triangle of a [m, n], m >= n, by R with a non-negative diagonal, and the other
// elements by reflections. Writes Q [m, n].
void factorise(Matrix& a, Matrix& q, Scratch rest) {
  const Index m = a.rows(), n = a.cols();
  Vector scales = rest.vector(n);
  double unused = 0;
  const auto reflect = [&](auto&& column, Index j) {
    column.tail(m - j).applyHouseholderOnTheLeft(a.col(j).tail(m - j - 1), scales[j], &unused);
  };
  // Proceed column by column, so that a column stays in the cache.
  for (Index c = 0; c < n; ++c) {
    for (Index j = 0; j < c; ++j) reflect(a.col(c), j);
    double first = 0;
    a.col(c).tail(m - c).makeHouseholderInPlace(scales[c], first);
    a(c, c) = first;
  }
  q.setIdentity();
  for (Index c = 0; c < n; ++c) {
    for (Index j = c; j >= 0; --j) reflect(q.col(c), j);
    if (!(a(c, c) < 0)) continue;
    q.col(c) = -q.col(c);
    a.row(c).tail(n - c) = -a.row(c).tail(n - c);
  }
}

// Rotates pairs of columns of g until all columns are orthogonal, and applies the same rotations to
// the columns of j.
void orthogonalise(Matrix& g, Matrix& j) {
  // About eight sweeps are usually enough. The limit is for matrices for which rounding errors
  // prevent convergence.
  constexpr int kMaxSweeps = 60;
  const Index n = g.cols();
  const double tolerance = 0x1p-52 * std::sqrt(static_cast<double>(n));
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < kMaxSweeps; ++sweep) {
    rotated = false;
    for (Index p = 0; p + 1 < n; ++p) {
      for (Index q = p + 1; q < n; ++q) {
        const double a = g.col(p).squaredNorm(), b = g.col(q).squaredNorm();
        const double inner = g.col(p).dot(g.col(q));
        if (!(std::fabs(inner) > tolerance * std::sqrt(a) * std::sqrt(b))) continue;
        Eigen::JacobiRotation<double> rotation;
        if (!rotation.makeJacobi(a, inner, b) || rotation.s() == 0) continue;
        rotated = true;
        g.applyOnTheRight(p, q, rotation);
        j.applyOnTheRight(p, q, rotation);
      }
    }
  }
}

}  // namespace

template <class T>
std::int64_t cholesky(const T* x, std::int64_t n, T* l, double* scratch) {
  const auto given = elements(x, n, n).template cast<double>();
  Matrix a(scratch, n, n);
  a = 0.5 * given + 0.5 * given.transpose();
  a.diagonal() = given.diagonal();  // halves of denormal numbers could be 0
  // LLT::compute() calls this function, but does not return the index of the failing pivot.
  std::int64_t failed = Eigen::internal::llt_inplace<double, Eigen::Lower>::blocked(a);
  // Eigen continues after pivots that are NaN or infinite.
  for (Index i = failed < 0 ? n : failed; i-- > 0;) {
    if (!std::isfinite(a(i, i))) failed = i;
  }
  if (l == nullptr) return failed;
  auto out = elements(l, n, n);
  out.setZero();
  if (failed < 0) out.template triangularView<Eigen::Lower>() = a.template cast<T>();
  return failed;
}

template <class T>
void triangular_solve(const T* t, std::int64_t n, const Triangle& triangle, const T* b, T* x,
                      std::int64_t width, std::int64_t columns, double* scratch) {
  using Stride = Eigen::OuterStride<>;
  Eigen::Map<RowMajor<double>> solution(scratch, n, width);
  Vector factors(scratch + n * width, n);
  solution = Eigen::Map<const RowMajor<T>, 0, Stride>(b, n, width, Stride(columns))
                 .template cast<double>();
  const auto matrix = elements(t, n, n);
  const bool backward = triangle.upper != triangle.transpose;  // starts with the last row of X
  for (Index step = 0; step < n; ++step) {
    const Index i = backward ? n - 1 - step : step, known = backward ? i + 1 : 0;
    if (triangle.transpose) {
      factors.head(step) = matrix.col(i).segment(known, step).template cast<double>();
    } else {
      factors.head(step) = matrix.row(i).segment(known, step).template cast<double>();
    }
    solution.row(i).noalias() -= factors.head(step).transpose() * solution.middleRows(known, step);
    if (!triangle.unit) solution.row(i) /= static_cast<double>(matrix(i, i));
  }
  Eigen::Map<RowMajor<T>, 0, Stride>(x, n, width, Stride(columns)) = solution.template cast<T>();
}

template <class T>
void qr(const T* x, std::int64_t m, std::int64_t n, T* q, T* r, double* scratch) {
  const double scale = scale_of(x, m * n);
  Scratch rest{scratch};
  Matrix a = rest.matrix(m, n), basis = rest.matrix(m, n);
  a = scale * elements(x, m, n).template cast<double>();
  factorise(a, basis, rest);
  if (q != nullptr) elements(q, m, n) = basis.template cast<T>();
  if (r != nullptr) {
    auto out = elements(r, n, n);
    out.setZero();
    out.template triangularView<Eigen::Upper>() = (a.topRows(n) / scale).template cast<T>();
  }
  if (scale != 0) return;
  fill_with_nan(q, m * n);
  for (Index i = 0; r != nullptr && i < n; ++i) fill_with_nan(r + i * n + i, n - i);
}

template <class T>
void svd(const T* x, std::int64_t m, std::int64_t n, T* u, T* s, T* vt, double* scratch) {
  const Index k = std::min(m, n);
  const double scale = scale_of(x, m * n);
  if (scale == 0) {
    fill_with_nan(u, m * k);
    fill_with_nan(s, k);
    fill_with_nan(vt, k * n);
    return;
  }
  // A wide matrix is transposed. Let G = R^T be rotated to G J = V diag(s). Then A = Q R =
  // (Q J) diag(s) V^T.
  const bool wide = m < n;
  const auto given = elements(x, m, n).template cast<double>();
  Scratch rest{scratch};
  Matrix a = rest.matrix(std::max(m, n), k), q = rest.matrix(std::max(m, n), k);
  Matrix g = rest.matrix(k, k), j = rest.matrix(k, k), v = rest.matrix(k, k);
  Vector values = rest.vector(k);
  if (wide) {
    a = scale * given.transpose();
  } else {
    a = scale * given;
  }
  factorise(a, q, rest);
  g.setZero();
  g.triangularView<Eigen::Lower>() = a.topRows(k).transpose();
  j.setIdentity();
  orthogonalise(g, j);
  values = g.colwise().squaredNorm();
  for (Index c = 0; c < k; ++c) {
    Index largest = 0;
    values.tail(k - c).maxCoeff(&largest);
    std::swap(values[c], values[c + largest]);
    g.col(c).swap(g.col(c + largest));
    j.col(c).swap(j.col(c + largest));
  }
  // If the largest element is close to 1, squares below this bound have lost digits to underflow.
  values = (values.array() < 0x1p-960).select(0.0, values.cwiseSqrt());
  a.noalias() = q * j;
  // G J = V diag(s) is a QR decomposition. It completes V if singular values are 0.
  factorise(g, v, rest);
  Matrix &left = wide ? v : a, &right = wide ? a : v;
  for (Index c = 0; c < k; ++c) {
    Index largest = 0;
    left.col(c).cwiseAbs().maxCoeff(&largest);
    if (!(left(largest, c) < 0)) continue;
    left.col(c) = -left.col(c);
    right.col(c) = -right.col(c);
  }
  if (u != nullptr) elements(u, m, k) = left.template cast<T>();
  if (s != nullptr) elements(s, k, 1) = (values / scale).template cast<T>();
  if (vt != nullptr) elements(vt, k, n) = right.transpose().template cast<T>();
}

template std::int64_t cholesky(const float*, std::int64_t, float*, double*);
template std::int64_t cholesky(const double*, std::int64_t, double*, double*);
template void triangular_solve(const float*, std::int64_t, const Triangle&, const float*, float*,
                               std::int64_t, std::int64_t, double*);
template void triangular_solve(const double*, std::int64_t, const Triangle&, const double*, double*,
                               std::int64_t, std::int64_t, double*);
template void qr(const float*, std::int64_t, std::int64_t, float*, float*, double*);
template void qr(const double*, std::int64_t, std::int64_t, double*, double*, double*);
template void svd(const float*, std::int64_t, std::int64_t, float*, float*, float*, double*);
template void svd(const double*, std::int64_t, std::int64_t, double*, double*, double*, double*);

}  // namespace weft::kernels
