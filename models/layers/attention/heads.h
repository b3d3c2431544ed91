// Splitting features into attention heads and merging them; helpers for attention masks.
#pragma once

#include "weft/graph/ir/value.h"

namespace WEFT_API weft {

/// Splits the features into heads: [batch, seq, heads * size] -> [batch, heads, seq, size].
Value split_heads(Value x, std::int64_t heads);

/// Merges the heads: [batch, heads, seq, size] -> [batch, seq, heads * size].
Value join_heads(Value x);

/// Returns the positions of `count` consecutive tokens that follow `position` earlier ones, i64:
/// [count] if `position` is a scalar, and [batch, count] if it is [batch].
Value consecutive_positions(Value position, const Dim& count);

/// Returns the contents of a cache [rows, heads, capacity, size] after `added` [batch, heads, new,
/// size] has been written, in each row of the batch from its `position` (i64 [batch]). Row b is
/// written to row rows[b] of the cache (i32 or i64 [batch]), or to row b if `rows` is undefined. In
/// a circular cache, the token at position p is entry p mod capacity.
Value write_to_cache(Value cache, Value added, Value position, Value rows, bool circular = false);

/// Returns the differences i - j between query position i and key position j, i64 [length, length].
Value position_differences(Graph& graph, const Dim& length);

/// Converts a padding mask to an additive mask for the scores. mask [batch, seq] (any dtype) is 1
/// for tokens and 0 for padding; the result [batch, 1, 1, seq] is 0 for tokens and the lowest
/// number of `dtype` for padding.
Value additive_padding_mask(Value mask, DType dtype);

}  // namespace weft
