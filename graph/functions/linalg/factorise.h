// Matrix factorisations and linear solvers.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// All functions accept f32 or f64 (computed in double) with any number of leading batch axes,
// factorise each matrix of the batch separately, and return bit-identical results for any number of
// threads. All are differentiable to any order. Sizes may be symbolic. Each matrix is processed by
// one worker: a batch of many small matrices uses all cores, a single large matrix uses one.
//
// Floating-point operations per matrix: n^3 / 3 (cholesky), n^2 m (triangular_solve), 2 m n^2 (qr),
// a multiple of that (svd). The results (and t, for a solve) are kept for the gradients, which cost
// a few products and solves of these sizes. If a matrix cannot be factorised, the run throws a
// DataError that names the matrix and the pivot, before any variable is written. This also holds
// for programs that only compute gradients.

/// Cholesky factorisation: returns the lower triangular L with L L^T = (x + x^T) / 2 for x
/// [..., n, n]. The gradient is symmetric. Throws DataError if (x + x^T) / 2 is not positive
/// definite.
Value cholesky(Arg x);

struct TriangularSolveOptions {
  bool upper = false;          // T is the upper triangle of t instead of the lower one
  bool transpose = false;      // solve T^T X = b instead of T X = b
  bool unit_diagonal = false;  // T has ones on its diagonal; the diagonal of t is ignored
};
/// Solves T X = b for a triangular matrix T: t [..., n, n], b [..., n, m]; batch axes broadcast.
/// The other triangle of t is not read. Throws DataError if T has a 0 on its diagonal.
Value triangular_solve(Arg t, Arg b, const TriangularSolveOptions& options = {});
/// Solves A X = b for A = L L^T, given factor = L = cholesky(A).
Value cholesky_solve(Arg factor, Arg b);

/// The results of qr().
struct QrFactors {
  Value q;  // [..., m, k], k = min(m, n): orthonormal columns
  Value r;  // [..., k, n]: upper triangular with a non-negative diagonal
};
/// QR decomposition: x [..., m, n] = q r, by Householder reflections. A matrix with more columns
/// than rows must have constant sizes. If the first k columns of x are linearly dependent, q and r
/// are not differentiable: computing the gradient throws DataError or returns values dominated by
/// rounding errors.
QrFactors qr(Arg x);

/// The results of svd().
struct SvdFactors {
  Value u;   // [..., m, k], k = min(m, n): orthonormal columns
  Value s;   // [..., k]: singular values, non-negative, in descending order
  Value vt;  // [..., k, n]: orthonormal rows
};
/// Singular value decomposition: x [..., m, n] = u diag(s) vt, by one-sided Jacobi rotations after
/// QR. In each column of u the element of largest magnitude is positive. s is differentiable if no
/// singular value is 0; u and vt are differentiable if all singular values are distinct and, unless
/// x is square, none is 0. Equal (or zero) singular values contribute nothing to the gradient. This
/// is correct for functions that do not depend on the choice of their singular vectors, such as the
/// best low-rank approximation.
SvdFactors svd(Arg x);

}  // namespace weft
