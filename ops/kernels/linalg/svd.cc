#include <algorithm>
#include <cmath>

#include "weft/ops/kernels/linalg/factorise.h"
#include "weft/ops/kernels/linalg/vectors.h"

namespace weft::kernels {
namespace {

// The maximum number of sweeps. About eight sweeps are usually enough; the limit is for matrices
// for which rounding errors prevent convergence.
constexpr int kMaxSweeps = 60;
// If the largest element is close to 1, inner products below this value have lost digits to
// underflow.
constexpr double kLeastSquare = 0x1p-960;

// Rotates pairs of the n vectors of length n in g until all vectors are orthogonal, and applies the
// same rotations to the vectors in j.
void orthogonalise(double* g, double* j, std::int64_t n, double* squares) {
  const double tolerance = 0x1p-52 * std::sqrt(static_cast<double>(n));
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < kMaxSweeps; ++sweep) {
    rotated = false;
    for (std::int64_t i = 0; i < n; ++i) squares[i] = dot(g + i * n, g + i * n, n);
    for (std::int64_t p = 0; p + 1 < n; ++p) {
      for (std::int64_t q = p + 1; q < n; ++q) {
        const double a = squares[p], b = squares[q];
        const double inner = dot(g + p * n, g + q * n, n);
        if (!(std::fabs(inner) > tolerance * std::sqrt(a) * std::sqrt(b))) continue;
        rotated = true;
        // Use the smaller of the two angles with tan(2 angle) = 2 inner / (b - a).
        const double zeta = (b - a) / (2 * inner);
        const double t = (zeta < 0 ? -1 : 1) / (std::fabs(zeta) + std::hypot(1, zeta));
        const double c = 1 / std::sqrt(1 + t * t), s = c * t;
        rotate(g + p * n, g + q * n, n, c, s);
        rotate(j + p * n, j + q * n, n, c, s);
        squares[p] = std::max(0.0, a - t * inner);
        squares[q] = std::max(0.0, b + t * inner);
      }
    }
  }
}

// Sets vector `count` of v to a unit vector that is orthogonal to the first `count` vectors of v,
// which are orthonormal. The new vector is derived from the first coordinate axis that is not
// nearly a linear combination of these vectors.
void complete(double* v, std::int64_t count, std::int64_t n) {
  double* const x = v + count * n;
  for (std::int64_t axis = 0; axis < n; ++axis) {
    for (std::int64_t i = 0; i < n; ++i) x[i] = i == axis ? 1 : 0;
    double square = 1;
    for (int twice = 0; twice < 2; ++twice) {
      for (std::int64_t k = 0; k < count; ++k) {
        const double factor = -dot(v + k * n, x, n);
        add_rows(x, n, v + k * n, n, &factor, 1);
      }
      square = dot(x, x, n);
      // At least one of the n axes has a remainder that is at least this large.
      if (2 * square * static_cast<double>(n) < 1) break;
    }
    if (2 * square * static_cast<double>(n) < 1) continue;
    const double norm = std::sqrt(square);
    for (std::int64_t i = 0; i < n; ++i) x[i] /= norm;
    return;
  }
}

}  // namespace

void svd(double* a, std::int64_t m, std::int64_t n, double* s, double* v, double* scratch) {
  double* const q = scratch;           // n vectors of length m
  double* const r = q + m * n;         // n vectors of length n, the rows of R, which are rotated
  double* const j = r + n * n;         // n vectors of length n, the accumulated rotations
  double* const squares = j + n * n;   // n
  double* const values = squares + n;  // n
  double* const order = values + n;    // n
  qr(a, m, n, q, r, squares);
  std::fill_n(j, n * n, 0.0);
  for (std::int64_t i = 0; i < n; ++i) j[i * n + i] = 1;
  // Let G = R^T be rotated to G J = V diag(s). Then A = Q R = (Q J) diag(s) V^T.
  orthogonalise(r, j, n, squares);
  for (std::int64_t i = 0; i < n; ++i) {
    const double square = dot(r + i * n, r + i * n, n);
    values[i] = square < kLeastSquare ? 0 : std::sqrt(square);
    order[i] = static_cast<double>(i);
  }
  std::sort(order, order + n, [values](double x, double y) {
    const double a = values[static_cast<std::int64_t>(x)], b = values[static_cast<std::int64_t>(y)];
    return a != b ? a > b : x < y;
  });
  std::fill_n(a, m * n, 0.0);
  for (std::int64_t c = 0; c < n; ++c) {
    const auto from = static_cast<std::int64_t>(order[c]);
    s[c] = values[from];
    add_rows(a + c * m, m, q, m, j + from * n, n);
    if (s[c] == 0) {
      complete(v, c, n);
    } else {
      for (std::int64_t i = 0; i < n; ++i) v[c * n + i] = r[from * n + i] / s[c];
    }
  }
}

}  // namespace weft::kernels
