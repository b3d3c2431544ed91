// Picking and placing elements by index, and sorting.
#pragma once

#include "weft/graph/functions/axes.h"

namespace WEFT_API weft {

// Indices are i32 or i64. An index out of range is a DataError when the program runs, before any
// variable is written; nothing is clamped and negative indices are out of range. Reading costs a
// pass over the result; adding costs one over x (none where x is not used afterwards: it is then
// written in place) and one over src. Gradients of rows of a large table: StepOptions::sparse.

/// Slices of x at the indices: x.shape[:axis] + index.shape + x.shape[axis+1:] (PyTorch:
/// index_select).
Value take(Arg x, Arg index, int axis = 0);
/// A copy of x with src added at the places that take(x, index, axis) reads; repeated indices add
/// up.
Value index_add(Arg x, Arg index, Arg src, int axis = 0);
/// out[i][j] = x[i][index[i][j]] for axis 1 (PyTorch: gather). Shapes are equal except along the
/// axis.
Value take_along_axis(Arg x, Arg index, int axis);
/// A copy of x with out[i][index[i][j]] += src[i][j] for axis 1; repeated indices add up.
Value scatter_add(Arg x, Arg index, Arg src, int axis);
/// 1 at the id on a new last axis of size `classes`, 0 elsewhere.
Value one_hot(Arg ids, const Dim& classes, DType dtype = DType::f32);
/// Rows of weight [vocabulary, width] by id: ids.shape + [width]. Look-ups of `padding_idx`, which
/// must be a row, give that row no gradient.
Value embedding(Arg ids, Arg weight, std::optional<std::int64_t> padding_idx = std::nullopt);
/// The block of `sizes` that begins at start (one index per axis); out of range is a DataError.
Value dynamic_slice(Arg x, Arg start, const Shape& sizes);
/// A copy of x with `update` written at start.
Value dynamic_update_slice(Arg x, Arg update, Arg start);

struct Sorted {
  Value values;
  Value indices;  // i64
};
/// The k largest (or smallest) elements along the axis, best first, and where they were. Of equals
/// the first comes first; NaN counts as largest.
Sorted topk(Arg x, std::int64_t k, int axis = -1, bool largest = true);
/// Stable sort along the axis; NaN counts as largest.
Sorted sort(Arg x, int axis = -1, bool descending = false);
/// sort().indices.
Value argsort(Arg x, int axis = -1, bool descending = false);

/// value where mask (bool, broadcast) is true, else x.
Value masked_fill(Arg x, Arg mask, Arg value);

}  // namespace weft
