// Stop texts, which end a generated sequence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/models/generate/options.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Changes `options` so that each sequence ends when its new text contains one of `texts`. The stop
/// text remains in the result. With a character tokenizer, ids are compared. With other tokenizers,
/// decoded texts are compared, because the ids of a text depend on the surrounding text. `prompts`
/// are the prompts of a decoder, or the first ids of each encoder-decoder output. The tokenizer
/// must outlive the options. Throws ArgumentError if a text is empty. With beams, options.check()
/// throws.
void stop_at(const std::vector<std::string>& texts, const Tokenizer& tokenizer,
             const std::vector<TokenIds>& prompts, GenerationOptions& options);

/// Returns true if `text` contains one of `texts`.
bool contains_any(std::string_view text, const std::vector<std::string>& texts);

}  // namespace weft
