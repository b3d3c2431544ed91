// Between features and attention heads.
#pragma once

#include "weft/graph/ir/value.h"

namespace WEFT_API weft {

/// [batch, seq, heads * size] -> [batch, heads, seq, size].
Value split_heads(Value x, std::int64_t heads);

/// [batch, heads, seq, size] -> [batch, seq, heads * size].
Value join_heads(Value x);

/// i - j for query i and key j: i64 [length, length].
Value position_differences(Graph& graph, const Dim& length);

/// What padding adds to scores: 0 where mask [batch, seq] (any dtype) is 1 and the lowest number of
/// `dtype` where it is 0, as [batch, 1, 1, seq].
Value additive_padding_mask(Value mask, DType dtype);

}  // namespace weft
