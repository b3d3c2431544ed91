// Converts the token ids of texts to rows of a batch.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// Returns "[CLS] ids [SEP]", truncated to `context` tokens. Throws ArgumentError if `context` is
/// below 2.
std::vector<std::int32_t> with_ends(std::span<const std::int32_t> ids, std::int32_t cls_id,
                                    std::int32_t sep_id, std::int64_t context);

struct TokenRows {
  Tensor ids;   // i32 [rows, length]
  Tensor mask;  // i32 [rows, length]; 1 for tokens, 0 for padding
};
/// Pads rows at their end to the length of the longest row, rounded up to a multiple of `multiple`,
/// so that batches have few distinct lengths. The result of rounding does not exceed `most`, the
/// maximum length of the model. Throws ArgumentError if there are no rows, or if all rows are
/// empty.
TokenRows pad_rows(std::span<const std::vector<std::int32_t>> rows, std::int32_t pad_id,
                   std::int64_t multiple = 16,
                   std::int64_t most = std::numeric_limits<std::int64_t>::max());

}  // namespace weft
