// Sums over fixed blocks of a tensor, with which ranks that own parts of the tensor compute its sum
// bit-exactly.
#pragma once

#include <cstdint>

#include "weft/ops/op.h"

namespace WEFT_API weft {

/// Number of elements per block of block_sums. The parts of tensors that ranks own begin at
/// multiples of it.
inline constexpr std::int64_t kSumBlock = 65536;

void add_block_sums_op(OpSet& ops);

}  // namespace weft
