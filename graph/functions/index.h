// Gather, scatter, sorting and top-k.
#pragma once

#include "weft/graph/functions/axes.h"

namespace WEFT_API weft {

// Indices are i32 or i64. An index out of range, including any negative index, throws DataError at
// run time, before any variable is written; indices are never clamped. Gathering costs one pass
// over the result. Scattering costs one pass over src and one over x; the latter is avoided if x is
// not used afterwards, because it is then updated in place. For sparse gradients of large embedding
// tables see StepOptions::sparse.

/// Gathers slices of x along an axis. The result has shape x.shape[:axis] + index.shape +
/// x.shape[axis+1:] (PyTorch: index_select).
Value take(Arg x, Arg index, int axis = 0);
/// Returns a copy of x with src added at the positions that take(x, index, axis) reads.
/// Contributions of repeated indices are summed.
Value index_add(Arg x, Arg index, Arg src, int axis = 0);
/// Returns a copy of x in which the elements that take(x, index, axis) reads are replaced by the
/// largest (smallest) of themselves and the elements of src at their indices (PyTorch:
/// index_reduce, "amax" or "amin"; JAX: x.at[index].max). x and src have the same dtype: f32, f64
/// or an integer dtype. The result is NaN where any of these elements is NaN. The gradient is
/// divided equally among equal extremes, including those of x, as for max().
Value index_max(Arg x, Arg index, Arg src, int axis = 0);
Value index_min(Arg x, Arg index, Arg src, int axis = 0);
/// Gathers single elements along an axis: out[i][j] = x[i][index[i][j]] for axis 1 (PyTorch:
/// gather). The shapes of x and index are equal except along the axis.
Value take_along_axis(Arg x, Arg index, int axis);
/// Returns a copy of x with out[i][index[i][j]] += src[i][j] for axis 1. Contributions of repeated
/// indices are summed.
Value scatter_add(Arg x, Arg index, Arg src, int axis);
/// Returns a copy of x with out[i][index[i][j]] = max (min) of this element and src[i][j] for axis
/// 1 (PyTorch: scatter_reduce, "amax" or "amin", with include_self). Otherwise like index_max().
Value scatter_max(Arg x, Arg index, Arg src, int axis);
Value scatter_min(Arg x, Arg index, Arg src, int axis);
/// One-hot encoding on a new last axis of size `classes`: 1 at the id, 0 elsewhere.
Value one_hot(Arg ids, const Dim& classes, DType dtype = DType::f32);
/// Looks up rows of weight [vocabulary, width] by id. The result has shape ids.shape + [width].
/// Lookups of `padding_idx`, which must be a valid row, do not contribute to the gradient.
Value embedding(Arg ids, Arg weight, std::optional<std::int64_t> padding_idx = std::nullopt);
/// Returns the block of shape `sizes` that begins at `start` (one index per axis). Throws DataError
/// at run time if the block is out of range.
Value dynamic_slice(Arg x, Arg start, const Shape& sizes);
/// Returns a copy of x with `update` written at `start`.
Value dynamic_update_slice(Arg x, Arg update, Arg start);

struct TensorScatterOptions {
  int axis = -2;  // must not be the first axis
  /// The row (index along axis 0) of x for each block, [B] (i32 or i64). Without it, block b
  /// belongs to row b, and x has B rows.
  OptionalArg rows = {};
  /// Entries are counted modulo the size of the axis: blocks continue at its beginning, and
  /// start[b] may be any number that is not negative (ring buffers).
  bool circular = false;
};
/// Returns a copy of x [S, ..., L, ...] in which block b of `update` [B, ..., n, ...] replaces n
/// entries of `axis` in one row, beginning at start[b]; start is [B] (ONNX: TensorScatter; JAX:
/// dynamic_update_slice mapped over rows). It appends to key and value caches in which every row
/// has its own length. It costs one pass over `update` if x is not used afterwards. Throws
/// DataError at run time, before anything is written, if a block is out of range or if two blocks
/// overlap.
Value tensor_scatter(Arg x, Arg update, Arg start, const TensorScatterOptions& options = {});

/// Sorted elements and their positions in the operand.
struct Sorted {
  Value values;
  Value indices;  // i64
};
/// Returns the k largest (or smallest) elements along the axis and their positions, in descending
/// (or ascending) order. Equal elements keep their order; NaN counts as largest.
Sorted topk(Arg x, std::int64_t k, int axis = -1, bool largest = true);
/// Stable sort along the axis; NaN counts as largest.
Sorted sort(Arg x, int axis = -1, bool descending = false);
/// Returns sort().indices.
Value argsort(Arg x, int axis = -1, bool descending = false);

/// Returns x with elements replaced by `value` where `mask` (bool, broadcast to x) is true.
Value masked_fill(Arg x, Arg mask, Arg value);

}  // namespace weft
