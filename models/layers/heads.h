// Splitting features into attention heads and merging them; helpers for attention masks.
#pragma once

#include "weft/graph/ir/value.h"

namespace WEFT_API weft {

/// [batch, seq, heads * size] -> [batch, heads, seq, size].
Value split_heads(Value x, std::int64_t heads);

/// [batch, heads, seq, size] -> [batch, seq, heads * size].
Value join_heads(Value x);

/// Differences i - j of query i and key j: i64 [length, length].
Value position_differences(Graph& graph, const Dim& length);

/// Converts a padding mask to an additive mask of the scores. mask [batch, seq] (any dtype) is 1
/// for tokens and 0 for padding; the result [batch, 1, 1, seq] is 0 for tokens and the lowest
/// number of `dtype` for padding.
Value additive_padding_mask(Value mask, DType dtype);

}  // namespace weft
