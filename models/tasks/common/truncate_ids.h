// Truncation of id sequences that are longer than the context of their model.
#pragma once

#include <cstdint>

#include "weft/models/generate/options.h"
#include "weft/models/tokenizers/tokenizer.h"
#include "weft/models/tokenizers/truncation.h"

namespace WEFT_API weft {

/// Truncates the ids of a text to `kept` ids. Ids are dropped at the end given by `cut`, but
/// special ids at both ends are kept if `tokenizer` (may be null) identifies them. If the special
/// ids alone reach `kept`, returns the first `kept` ids.
TokenIds truncate_ids(const TokenIds& ids, std::int64_t kept, const Tokenizer* tokenizer,
                      TextEnd cut);

}  // namespace weft
