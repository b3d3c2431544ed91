// Attention over two disjoint sets of keys, from the results for each set. Internal to models.
#pragma once

#include "weft/graph/functions/attention.h"

namespace weft {

/// Returns the attention output [B, H, Lq, Dv] over the keys of both sets, given the results for
/// each set with the same queries. This is exact, because the log-sum-exps determine the share of
/// each set in the joint softmax. It needs O(Lq) memory. The output is 0 for queries without keys.
Value merged_attention(const AttentionResult& a, const AttentionResult& b);

}  // namespace weft
