// Factorisations of a single row-major matrix on one worker. Eigen computes them in double; T is
// float or double. Pointers to outputs without readers may be null. Scratch consists of doubles.
#pragma once

#include <cstdint>

namespace weft::kernels {

/// Writes the lower triangular matrix L [n, n] with L L^T = (x + x^T) / 2. Returns -1 on success.
/// Otherwise, L is 0, and the result is the index of the first pivot that is not a positive finite
/// number. Scratch: n^2.
template <class T>
std::int64_t cholesky(const T* x, std::int64_t n, T* l, double* scratch);

/// The triangle T of a matrix t [n, n].
struct Triangle {
  bool upper = false, transpose = false, unit = false;  // unit: T has ones on its diagonal
};
/// Solves T X = b, or T^T X = b if `transpose`, by substitution. b and x [n, width] are parts of
/// matrices with `columns` columns. x may be b. Scratch: n (width + 1).
template <class T>
void triangular_solve(const T* t, std::int64_t n, const Triangle& triangle, const T* b, T* x,
                      std::int64_t width, std::int64_t columns, double* scratch);

/// Householder QR decomposition of x [m, n], m >= n (Golub and Van Loan, "Matrix Computations",
/// section 5.2): Q [m, n], and R [n, n] with a non-negative diagonal. The results for a matrix that
/// contains NaN or infinity are NaN. Scratch: 2 m n + n.
template <class T>
void qr(const T* x, std::int64_t m, std::int64_t n, T* q, T* r, double* scratch);

/// Singular value decomposition of x [m, n] with k = min(m, n): u [m, k], s [k] in descending
/// order, vt [k, n]. The algorithm is QR followed by one-sided Jacobi rotations of the rows of R
/// (Demmel and Veselic, "Jacobi's method is more accurate than QR", 1992; Drmac and Veselic, "New
/// fast and accurate Jacobi SVD algorithm", 2008). Values below 2^-480 of the largest element
/// become 0, because their squares have too few significant digits. In each column of u, the
/// (first) element of largest magnitude is positive. The results for a matrix that contains NaN or
/// infinity are NaN. Scratch: 2 m n + 3 k^2 + 2 k.
template <class T>
void svd(const T* x, std::int64_t m, std::int64_t n, T* u, T* s, T* vt, double* scratch);

}  // namespace weft::kernels
