// Sums of a tensor in blocks: what ranks that have a part of it each can add up without changing a
// bit.
#pragma once

#include <cstdint>

#include "weft/ops/op.h"

namespace WEFT_API weft {

/// Elements of a block of block_sums. Parts of tensors that ranks own begin at multiples of it.
inline constexpr std::int64_t kSumBlock = 65536;

void add_block_sums_op(OpSet& ops);

}  // namespace weft
