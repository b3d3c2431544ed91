// Factorisations of matrices, and equations that they solve.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// All take f32 or f64 (computed in double) with any axes in front of the last two: one matrix after
// the other, with the same bits for any number of threads. All are differentiable, twice and more.
// Sizes may be symbols. A matrix is one worker's: many small ones use all cores, one large one uses
// one. Floating-point operations: n^3 / 3 (cholesky), n^2 m (a solve), 2 m n^2 (qr), a multiple of
// that (svd). Gradients keep the results (a solve: t, too) and cost a few products and solves of
// these sizes. A DataError that names matrix and pivot is found before any variable is written;
// programs that compute gradients alone find it, too.

/// The lower triangular L with L L^T = (x + x^T) / 2; x is [..., n, n], and its gradient is
/// symmetric. DataError where that is not positive definite.
Value cholesky(Arg x);

struct TriangularSolveOptions {
  bool upper = false;          // T is the upper triangle of t, not the lower one
  bool transpose = false;      // T^T X = b, not T X = b
  bool unit_diagonal = false;  // T has ones on its diagonal, whatever t has there
};
/// The X with T X = b: t [..., n, n], b [..., n, m]; the axes in front broadcast. The other
/// triangle of t is not read. DataError where T has a 0 on its diagonal.
Value triangular_solve(Arg t, Arg b, const TriangularSolveOptions& options = {});
/// The X with A X = b for A = L L^T, from L = cholesky(A).
Value cholesky_solve(Arg factor, Arg b);

/// What qr() gives.
struct QrFactors {
  Value q;  // [..., m, k], k = min(m, n): orthonormal columns
  Value r;  // [..., k, n]: upper triangular, no negative number on its diagonal
};
/// x [..., m, n] = q r, by Householder reflections. A matrix with more columns than rows must have
/// constant sizes. Where the first k columns of x are linearly dependent, q and r have no
/// derivative: the gradient is then as large as the rounding errors make it, or a DataError.
QrFactors qr(Arg x);

/// What svd() gives.
struct SvdFactors {
  Value u;   // [..., m, k], k = min(m, n): orthonormal columns
  Value s;   // [..., k]: falling, not negative
  Value vt;  // [..., k, n]: orthonormal rows
};
/// x [..., m, n] = u diag(s) vt, by one-sided Jacobi rotations after QR. The element of each column
/// of u that is largest in magnitude is positive. s has a gradient where no value is 0; u and vt
/// have one where all values of s differ and, unless x is square, none is 0. Values that are equal
/// (or 0) contribute nothing, which is right for what does not depend on the choice of vectors
/// that belong to them, as the best approximation of lower rank.
SvdFactors svd(Arg x);

}  // namespace weft
