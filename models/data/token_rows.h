// Token ids of texts as the rows of a batch.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// "[CLS] ids [SEP]", cut to `context` tokens. Throws ArgumentError where context is less than 2.
std::vector<std::int32_t> with_ends(std::span<const std::int32_t> ids, std::int32_t cls_id,
                                    std::int32_t sep_id, std::int64_t context);

struct TokenRows {
  Tensor ids;   // i32 [rows, length]
  Tensor mask;  // i32 [rows, length]: 1 where there is a token, 0 where it is padding
};
/// The rows with padding behind them, as long as the longest, rounded up to a multiple of
/// `multiple` but not beyond `most`, what a model can read: so batches come in few lengths. Throws
/// ArgumentError where there is no row, or only empty ones.
TokenRows pad_rows(std::span<const std::vector<std::int32_t>> rows, std::int32_t pad_id,
                   std::int64_t multiple = 16,
                   std::int64_t most = std::numeric_limits<std::int64_t>::max());

}  // namespace weft
