// Splitting features into attention heads and merging them; helpers for attention masks.
#pragma once

#include "weft/graph/ir/value.h"

namespace WEFT_API weft {

/// Splits the features into heads: [batch, seq, heads * size] -> [batch, heads, seq, size].
Value split_heads(Value x, std::int64_t heads);

/// Merges the heads: [batch, heads, seq, size] -> [batch, seq, heads * size].
Value join_heads(Value x);

/// Returns the differences i - j between query position i and key position j, i64 [length, length].
Value position_differences(Graph& graph, const Dim& length);

/// Converts a padding mask to an additive mask for the scores. mask [batch, seq] (any dtype) is 1
/// for tokens and 0 for padding; the result [batch, 1, 1, seq] is 0 for tokens and the lowest
/// number of `dtype` for padding.
Value additive_padding_mask(Value mask, DType dtype);

}  // namespace weft
