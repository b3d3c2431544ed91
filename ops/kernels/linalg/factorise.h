// Factorisations of one matrix of doubles in place, on one worker. The caller provides all scratch.
#pragma once

#include <cstdint>

namespace weft::kernels {

/// Replaces the upper triangle of u (n x n, row-major), which holds a symmetric matrix A, by U with
/// U^T U = A. The elements below it are neither read nor written. Returns -1, or the first row
/// whose pivot is not a positive finite number; the contents of u are then undefined. Scratch: n
/// elements.
std::int64_t cholesky(double* u, std::int64_t n, double* scratch);

/// Returns the elements of scratch that qr() needs.
constexpr std::int64_t qr_scratch(std::int64_t n) { return n; }
/// Householder QR (Golub and Van Loan, "Matrix Computations", section 5.2): the n vectors of length
/// m >= n in `a`, one after the other, are the columns of a matrix A = Q R. Writes the columns of Q
/// in the same layout, and R (n x n, row-major) with a non-negative diagonal. Overwrites `a`.
void qr(double* a, std::int64_t m, std::int64_t n, double* q, double* r, double* scratch);

/// Returns the elements of scratch that svd() needs.
constexpr std::int64_t svd_scratch(std::int64_t m, std::int64_t n) {
  return m * n + 2 * n * n + 3 * n;
}
/// Singular value decomposition A = U diag(s) V^T of the n columns of length m >= n in `a`, laid
/// out as for qr(): QR, then one-sided Jacobi rotations of the rows of R (Demmel and Veselic,
/// "Jacobi's method is more accurate than QR", 1992; Drmac and Veselic, "New fast and accurate
/// Jacobi SVD algorithm", 2008). The columns of U replace those of A; v receives the n columns of
/// V. s is in descending order; equal values keep their order in R. The largest element of A should
/// be near 1: values below 2^-480 become 0, since their squares have too few digits. Signs are
/// arbitrary.
void svd(double* a, std::int64_t m, std::int64_t n, double* s, double* v, double* scratch);

}  // namespace weft::kernels
