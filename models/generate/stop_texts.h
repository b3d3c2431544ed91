// Stop texts, which end a generated sequence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/models/generate/options.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Ends sequences for `prompts` when their new text contains one of `texts`, which remains in the
/// result. With a character tokenizer, ids are compared. With other tokenizers the texts themselves
/// are compared, because the ids of a text depend on the text around it. `prompts` are the prompts
/// of a decoder, or the first ids of each output of an encoder-decoder. The tokenizer must outlive
/// the options. Throws ArgumentError for an empty text; with beams, options.check() throws.
void stop_at(const std::vector<std::string>& texts, const Tokenizer& tokenizer,
             const std::vector<TokenIds>& prompts, GenerationOptions& options);

/// Returns true if `text` contains one of `texts`.
bool contains_any(std::string_view text, const std::vector<std::string>& texts);

}  // namespace weft
