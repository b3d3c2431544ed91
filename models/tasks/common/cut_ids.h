// Ids of texts that are longer than their model reads.
#pragma once

#include <cstdint>

#include "weft/models/generate/options.h"
#include "weft/models/tokenizers/tokenizer.h"
#include "weft/models/tokenizers/truncation.h"

namespace WEFT_API weft {

/// `kept` of the ids of a text: those at its end `cut` are left out, but special ids at both ends
/// stay, where there is a tokenizer that knows them.
TokenIds cut_ids(const TokenIds& ids, std::int64_t kept, const Tokenizer* tokenizer, TextEnd cut);

}  // namespace weft
