// What factorisations of matrices are made of: sums, inner products and rotations of vectors of
// double.
#pragma once

#include <cstdint>

namespace weft::kernels {

/// y[j] += factors[0] * x[j] + factors[1] * x[stride + j] + ... over `count` rows of x, for j in
/// [0, n): fused multiply-adds one after the other, so that an element's bits do not depend on the
/// others. y is none of the rows.
void add_rows(double* y, std::int64_t n, const double* x, std::int64_t stride,
              const double* factors, std::int64_t count);

/// The sum of x[i] * y[i]; the order follows from n and the SIMD target.
double dot(const double* x, const double* y, std::int64_t n);

/// (x, y) becomes (c x - s y, s x + c y).
void rotate(double* x, double* y, std::int64_t n, double c, double s);

}  // namespace weft::kernels
