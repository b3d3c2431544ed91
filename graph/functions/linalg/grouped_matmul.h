// Matrix products of groups of rows, each with its own matrix, as in mixtures of experts.
#pragma once

#include <optional>

#include "weft/graph/functions/arg.h"
#include "weft/ops/precision.h"

namespace WEFT_API weft {

struct GroupedMatmulOptions {
  /// Treats each matrix of w as transposed, without copying it.
  bool transpose_w = false;
  /// Precision of this product and of its gradients; the program's precision by default.
  std::optional<Precision> precision = {};
};
/// Multiplies each group of rows by its own matrix: x [n, k], w [groups, k, m] (or [groups, m, k]
/// with transpose_w), sizes [groups] -> [n, m]. Group e consists of the next sizes[e] rows of x, so
/// rows that are sorted by group are multiplied without padding. Rows after the last group are 0.
/// The same as jax.lax.ragged_dot and torch._grouped_mm (which expects the ends of the groups).
///
/// x and w are f32, f64, bf16 or f16, as in matmul; sizes is i32 or i64. Differentiable to any
/// order with respect to x and w. Costs 2 n k m floating-point operations and at most one copy of w
/// in cache-sized blocks (a complete packed copy if w is constant). Throws ShapeError or DTypeError
/// for operands that do not match. A negative size, or a sum of sizes greater than n, throws
/// DataError before any variable is written.
///
/// The bits of a row do not depend on the number of threads, on the other groups or on the other
/// rows, with one exception: with transpose_w and at most 8 rows per group on average, the order of
/// the sums depends on the number of rows in the group.
Value grouped_matmul(Arg x, Arg w, Arg sizes, const GroupedMatmulOptions& options = {});

/// Sums the outer products of the rows of each group: a [n, k], b [n, m], sizes [groups] ->
/// [groups, k, m], with out[e] = a_e^T b_e for the rows of group e. Empty groups give 0. This is
/// the gradient of w in grouped_matmul. Same dtypes, cost and errors as grouped_matmul. The bits of
/// out[e] depend only on the rows of group e, n, and the shapes.
Value grouped_outer(Arg a, Arg b, Arg sizes, std::optional<Precision> precision = {});

}  // namespace weft
