// Truncates id sequences that are longer than the context of the model.
#pragma once

#include <cstdint>

#include "weft/models/generate/options.h"
#include "weft/models/text/tokenizers/base/truncation.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Truncates the ids of a text to `kept` ids. `cut` specifies the end at which ids are dropped.
/// Special ids at both ends are kept if `tokenizer` (may be null) identifies them. If there are at
/// least `kept` special ids, returns the first `kept` ids.
TokenIds truncate_ids(const TokenIds& ids, std::int64_t kept, const Tokenizer* tokenizer,
                      TextEnd cut);

}  // namespace weft
