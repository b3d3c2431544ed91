// In-place factorisations of a single matrix of doubles on one worker. The caller provides all
// scratch.
#pragma once

#include <cstdint>

namespace weft::kernels {

/// Replaces the upper triangle of u (n x n, row-major), which holds a symmetric matrix A, by the
/// factor U with U^T U = A. The elements below the diagonal are neither read nor written. Returns
/// -1 on success. Otherwise, returns the first row whose pivot is not a positive finite number, and
/// the contents of u are undefined. `scratch` has n elements.
std::int64_t cholesky(double* u, std::int64_t n, double* scratch);

/// Returns the number of scratch elements that qr() needs.
constexpr std::int64_t qr_scratch(std::int64_t n) { return n; }
/// Householder QR decomposition A = Q R (Golub and Van Loan, "Matrix Computations", section 5.2).
/// `a` contains the columns of A, which are n consecutive vectors of length m >= n. Writes the
/// columns of Q in the same layout, and R (n x n, row-major) with a non-negative diagonal.
/// Overwrites `a`.
void qr(double* a, std::int64_t m, std::int64_t n, double* q, double* r, double* scratch);

/// Returns the number of scratch elements that svd() needs.
constexpr std::int64_t svd_scratch(std::int64_t m, std::int64_t n) {
  return m * n + 2 * n * n + 3 * n;
}
/// Singular value decomposition A = U diag(s) V^T. `a` contains the n columns of A, of length m >=
/// n, in the same layout as for qr(). The algorithm is QR followed by one-sided Jacobi rotations of
/// the rows of R (Demmel and Veselic, "Jacobi's method is more accurate than QR", 1992; Drmac and
/// Veselic, "New fast and accurate Jacobi SVD algorithm", 2008). The columns of U overwrite the
/// columns of A; v receives the n columns of V. s is in descending order; equal values keep their
/// order in R. The largest element of A should be close to 1. Values below 2^-480 become 0, because
/// their squares have too few significant digits. Signs are arbitrary.
void svd(double* a, std::int64_t m, std::int64_t n, double* s, double* v, double* scratch);

}  // namespace weft::kernels
