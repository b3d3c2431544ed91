// Reductions over segments: groups of rows that are given by an id for each row. Graph networks use
// them to sum messages over the edges of each node, and batches of sets or texts of different
// lengths use them instead of padding.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// `data` is [n, ...], and `segment_ids` is i32 or i64 [n]: row i belongs to segment segment_ids[i].
// The ids need not be sorted, and a segment may have no rows. The results of the reductions are
// [num_segments, ...] with the dtype of data (JAX: jax.ops.segment_sum; TensorFlow:
// unsorted_segment_sum; PyTorch Geometric: scatter). num_segments may be symbolic, for example
// nodes.size(0). n and num_segments may be 0.
//
// ShapeError is thrown if the sizes do not match, and DTypeError for other dtypes. An id outside
// [0, num_segments), including any negative id, throws DataError at run time, before any variable
// is written. (JAX and TensorFlow drop such rows; here they need an additional segment that is
// sliced off.) Each reduction costs one pass over data and one over the result. Rows are combined
// in their order, so results do not depend on the number of threads. All functions are
// differentiable any number of times.

/// Sum of the rows of each segment; 0 for an empty segment. data is f32, f64 or an integer dtype.
Value segment_sum(Arg data, Arg segment_ids, const Dim& num_segments);
/// Mean of the rows of each segment; 0 for an empty segment. data is f32 or f64.
Value segment_mean(Arg data, Arg segment_ids, const Dim& num_segments);
/// Elementwise maximum (minimum) of the rows of each segment; NaN if any element is NaN. An empty
/// segment gives the neutral element, as in JAX: -inf (inf), or the smallest (largest) integer of
/// the dtype. where(isfinite(m), m, 0) replaces it without affecting gradients. data is f32, f64 or
/// an integer dtype. The gradient is divided equally among equal extremes, as for max().
Value segment_max(Arg data, Arg segment_ids, const Dim& num_segments);
Value segment_min(Arg data, Arg segment_ids, const Dim& num_segments);
/// Softmax over the rows of each segment, separately for each of the other axes. The result has the
/// shape of data: exp(data) divided by its segment_sum(), without overflow. data is f32 or f64. If
/// all elements of a segment are -inf, they become NaN, as in softmax(). Keeps two tensors of the
/// size of data for the gradient. In graph attention, data [edges, heads] contains the scores of
/// the edges, and segment_ids the node that each edge ends at (Velickovic et al. 2018).
Value segment_softmax(Arg data, Arg segment_ids, const Dim& num_segments);

/// Returns the segment ids, i64 [n], of rows in consecutive segments: rows [offsets[s],
/// offsets[s + 1]) belong to segment s (TensorFlow: RaggedTensor.value_rowids). `offsets` is i32 or
/// i64 [num_segments + 1], and ascends from 0 to n. Costs one pass over the ids.
Value segment_ids(Arg offsets, const Dim& n);

}  // namespace weft
