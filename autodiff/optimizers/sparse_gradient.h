// Gradients of matrices of which few rows are read, as of embeddings: the rows that were, and what
// belongs to them.
#pragma once

#include <string_view>
#include <vector>

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// The gradient of a matrix [count, width] whose other rows have none. Memory and time go with n,
/// however many rows there are.
struct SparseGradient {
  Value rows;    // i64 [n], in [0, count)
  Value values;  // [n, width]
  /// bool [n]: false where an earlier element has the same row and took this one's values. Such an
  /// element has row 0 and values 0.
  Value used;
};

/// Sums what belongs to one row, in the order of `rows` (i32 or i64 of any shape); `values` has its
/// shape and a last axis more. With `looked_up` = take(matrix, rows), the gradient of a loss with
/// respect to the matrix is sparse_gradient(rows, gradient(loss, looked_up)). Throws ShapeError and
/// DTypeError.
SparseGradient sparse_gradient(Value rows, Value values,
                               SourceLocation loc = SourceLocation::current());

/// The same as a whole matrix of `count` rows.
Value dense_gradient(const SparseGradient& gradient, const Dim& count);

/// Where a value reads rows of a matrix: the take() nodes, in the order in which they were built.
/// Throws ArgumentError with the node's place if something reads the matrix otherwise, or nothing
/// does; `function` is whose error that is.
std::vector<Node*> look_ups(std::string_view function, Value value, const Variable& matrix,
                            SourceLocation loc);

/// The gradient from those of the results of all look-ups (of look_ups(), in that order). Those of
/// `of_shards` are of all shards (gradients_for(): `joined`).
SparseGradient joined_gradient(const std::vector<Node*>& look_ups,
                               const std::vector<Value>& gradients,
                               const std::vector<Value>& of_shards, SourceLocation loc);

}  // namespace weft
