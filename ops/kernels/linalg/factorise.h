// Factorisations of one matrix of double in place, on one worker. All scratch is the caller's.
#pragma once

#include <cstdint>

namespace weft::kernels {

/// The upper triangle of u (n x n, row-major), a symmetric matrix A, becomes U with U^T U = A; what
/// lies below it is neither read nor written. Returns -1, or the first row whose pivot is not a
/// positive finite number: u holds nothing of use then. Scratch: n elements.
std::int64_t cholesky(double* u, std::int64_t n, double* scratch);

/// Elements of scratch that qr() needs.
constexpr std::int64_t qr_scratch(std::int64_t n) { return n; }
/// Householder QR (Golub and Van Loan, "Matrix Computations", section 5.2): the n vectors of length
/// m >= n in `a`, one behind the other, are the columns of a matrix A = Q R. Writes the columns of
/// Q in the same layout, and R (n x n, row-major) with a diagonal that is not negative; a's
/// contents are lost.
void qr(double* a, std::int64_t m, std::int64_t n, double* q, double* r, double* scratch);

/// Elements of scratch that svd() needs.
constexpr std::int64_t svd_scratch(std::int64_t m, std::int64_t n) {
  return m * n + 2 * n * n + 3 * n;
}
/// Singular value decomposition A = U diag(s) V^T of the n columns of length m >= n in `a`, laid
/// out as for qr(): QR, then one-sided Jacobi rotations of the rows of R (Demmel and Veselic,
/// "Jacobi's method is more accurate than QR", 1992; Drmac and Veselic, "New fast and accurate
/// Jacobi SVD algorithm", 2008). The columns of U replace those of A; v gets the n columns of V. s
/// falls; of equals the one that came first in R stands first. The largest element of A shall be
/// near 1: values below 2^-480 become 0, since squares of such have too few digits. Signs are not
/// fixed.
void svd(double* a, std::int64_t m, std::int64_t n, double* s, double* v, double* scratch);

}  // namespace weft::kernels
