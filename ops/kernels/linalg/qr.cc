#include <cmath>

#include "weft/ops/kernels/linalg/factorise.h"
#include "weft/ops/kernels/linalg/vectors.h"

namespace weft::kernels {
namespace {

// Computes x -= scale v (v . x).
void reflect(double* x, const double* v, std::int64_t length, double scale) {
  const double factor = -scale * dot(v, x, length);
  add_rows(x, length, v, length, &factor, 1);
}

// A reflection I - scale v v^T that maps x to a vector whose only non-zero element is the first
// element, `first`. x is replaced by v, the length of which is close to 1. For a zero vector, the
// scale is 0.
struct Reflection {
  double first = 0, scale = 0;
};
Reflection make_reflection(double* x, std::int64_t length) {
  double square = dot(x, x, length), unit = 1;
  if (square < 1e-280) {
    // Linearly dependent columns leave tiny remainders with squares that underflow.
    unit = 0x1p-600;
    for (std::int64_t i = 0; i < length; ++i) x[i] /= unit;
    square = dot(x, x, length);
  }
  if (square == 0) return {};
  const double norm = std::sqrt(square);
  for (std::int64_t i = 0; i < length; ++i) x[i] /= norm;
  // Choose the sign for which the addition does not cause cancellation.
  const double head = x[0], sign = head < 0 ? 1 : -1;
  x[0] = head - sign;
  return {sign * norm * unit, 1 / (1 + std::fabs(head))};
}

}  // namespace

void qr(double* a, std::int64_t m, std::int64_t n, double* q, double* r, double* scratch) {
  double* const scales = scratch;
  // Proceed column by column, so that all previous reflections are applied to a column while it is
  // in the cache.
  for (std::int64_t c = 0; c < n; ++c) {
    double* const column = a + c * m;
    for (std::int64_t j = 0; j < c; ++j) {
      reflect(column + j, a + j * m + j, m - j, scales[j]);
      r[j * n + c] = column[j];
      r[c * n + j] = 0;
    }
    const Reflection reflection = make_reflection(column + c, m - c);
    scales[c] = reflection.scale;
    r[c * n + c] = reflection.first;
  }
  for (std::int64_t c = 0; c < n; ++c) {
    double* const column = q + c * m;
    for (std::int64_t i = 0; i < m; ++i) column[i] = i == c ? 1 : 0;
    for (std::int64_t j = c; j >= 0; --j) reflect(column + j, a + j * m + j, m - j, scales[j]);
    if (!(r[c * n + c] < 0)) continue;
    for (std::int64_t i = 0; i < m; ++i) column[i] = -column[i];
    for (std::int64_t j = c; j < n; ++j) r[c * n + j] = -r[c * n + j];
  }
}

}  // namespace weft::kernels
