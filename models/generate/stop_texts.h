// Stop texts and stop sequences, which end a generated sequence.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/generate/options.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Returns true if the text of the last of `ids` completes one of `texts`, which are not empty. To
/// be called after every new id. `before` contains the ids before `ids`: the prompt of a decoder,
/// or the first ids of an encoder-decoder's output. Texts are compared rather than ids, because the
/// ids of a text depend on the surrounding text.
bool ends_with_stop_text(const std::vector<std::string>& texts, const Tokenizer& tokenizer,
                         const TokenIds& before, const TokenIds& ids);

/// Returns true if `text` contains one of `texts`.
bool contains_any(std::string_view text, const std::vector<std::string>& texts);

/// Returns true if `ids` end with one of `sequences`.
bool ends_with_any(std::span<const std::int64_t> ids, const std::vector<TokenIds>& sequences);

}  // namespace weft
