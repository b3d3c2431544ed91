// Sparse gradients of matrices of which only a few rows are read, such as embedding tables: the row
// numbers and the gradients of these rows.
#pragma once

#include <string_view>
#include <vector>

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// The gradient of a matrix [count, width] that is zero except in the given rows. Memory and time
/// grow with n, not with the number of rows of the matrix.
struct SparseGradient {
  Value rows;    // i64 [n], in [0, count)
  Value values;  // [n, width]
  /// bool [n]: false for padding elements, which have row 0 and values 0. There is one padding
  /// element for each repeated row number, because the gradients of equal rows are summed into one
  /// element.
  Value used;
};

/// Sums the values of equal rows, in the order of `rows` (i32 or i64 of any shape). `values` has
/// the shape of `rows` and one more axis at the end. For a loss that reads `looked_up` =
/// take(matrix, rows), the gradient with respect to the matrix is
///   sparse_gradient(rows, gradient(loss, looked_up))
/// Throws ShapeError or DTypeError if the arguments do not have these shapes and dtypes.
SparseGradient sparse_gradient(Value rows, Value values,
                               SourceLocation loc = SourceLocation::current());

/// Returns the gradient as a dense matrix of `count` rows.
Value dense_gradient(const SparseGradient& gradient, const Dim& count);

/// Returns the take() nodes by which `value` reads rows of `matrix`, in the order in which they
/// were built. Throws ArgumentError if another op reads the matrix (the message contains the
/// location of that op), or if nothing reads it. `function` is the name of the optimizer in these
/// messages.
std::vector<Node*> lookups(std::string_view function, Value value, const Variable& matrix,
                           SourceLocation loc);

/// Combines the `gradients` of the results of all lookups (as returned by lookups(), in that
/// order) into one sparse gradient. For results in `sharded_results`, the gradient contains the
/// rows of all shards (see `joined` of gradients_for()).
SparseGradient joined_gradient(const std::vector<Node*>& lookups,
                               const std::vector<Value>& gradients,
                               const std::vector<Value>& sharded_results, SourceLocation loc);

}  // namespace weft
