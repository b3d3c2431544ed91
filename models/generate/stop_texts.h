// Texts that end what is generated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/models/generate/options.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Sequences for `prompts` end where their new text holds one of `texts`, which stays in it.
/// Characters are compared as ids; which pieces a text is made of depends on what stands around it,
/// so that those are compared as texts. `prompts`: of a decoder; of an encoder-decoder what each
/// output begins with. The tokenizer must outlive the options. Throws ArgumentError for an empty
/// text; options.check() does for beams.
void stop_at(const std::vector<std::string>& texts, const Tokenizer& tokenizer,
             const std::vector<TokenIds>& prompts, GenerationOptions& options);

/// Whether `text` holds one of `texts`.
bool holds_one(std::string_view text, const std::vector<std::string>& texts);

}  // namespace weft
