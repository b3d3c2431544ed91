// Building blocks for matrix factorisations: sums, inner products and rotations of vectors of
// doubles.
#pragma once

#include <cstdint>

namespace weft::kernels {

/// Computes y[j] += factors[0] * x[j] + factors[1] * x[stride + j] + ... over `count` rows of x,
/// for j in [0, n). Every element is computed by a chain of fused multiply-adds, so its bits do not
/// depend on other elements. y must not be one of the rows.
void add_rows(double* y, std::int64_t n, const double* x, std::int64_t stride,
              const double* factors, std::int64_t count);

/// Returns the sum of x[i] * y[i]. The order of summation depends on n and the SIMD target.
double dot(const double* x, const double* y, std::int64_t n);

/// Replaces (x, y) by (c x - s y, s x + c y).
void rotate(double* x, double* y, std::int64_t n, double c, double s);

}  // namespace weft::kernels
