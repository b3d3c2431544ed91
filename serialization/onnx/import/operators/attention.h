// Parts of the attention operators of ONNX and of com.microsoft.
#pragma once

#include "weft/graph/functions/attention.h"
#include "weft/serialization/onnx/import/node_import.h"

namespace weft::onnx {

/// Returns [B, L, heads * D] as [B, heads, L, D]. Throws FormatError if the features are not a
/// multiple of `heads`.
Value split_heads(Value x, std::int64_t heads);
/// The inverse of split_heads().
Value merge_heads(Value x);

/// Returns a mask or bias with 4 axes that broadcast to [B, H, Lq, Lk]; the axes of x are aligned
/// with the last of these. Requires that sizes other than 1 agree.
Value aligned_scores(Value x, Value q, Value k);

/// Sets the causal mask of queries q [B, H, Lq, D] that follow `past` earlier keys (ONNX): query i
/// attends to the keys j <= past + i of k [B, Hkv, Lk, D].
void mask_future_keys(AttentionOptions& options, Value q, Value k, const Dim& past);

/// Rotates the first 2 R features of each head of x [B, H, L, D]. cos and sin [B or 1, L, R]
/// contain the cosines and sines of feature pairs (j, j + R), or of (2j, 2j + 1) if `interleaved`.
Value rotated_heads(Value x, Value cos, Value sin, bool interleaved);

}  // namespace weft::onnx
