// Sums over fixed blocks of a tensor. With these sums, ranks that own parts of a tensor can compute
// the sum over the whole tensor bit-exactly.
#pragma once

#include <cstdint>

#include "weft/ops/op.h"

namespace WEFT_API weft {

/// The number of elements per block in block_sums. The parts of tensors that ranks own begin at
/// multiples of this number.
inline constexpr std::int64_t kSumBlock = 65536;

void add_block_sums_op(OpSet& ops);

}  // namespace weft
