// Checks that an encoder config and a tokenizer are consistent.
#pragma once

#include "weft/models/families/encoder_config.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Throws ArgumentError if the tokenizer has more ids than the model's embedding table has rows, or
/// if the padding ids differ. The table may have extra rows, as in some pre-trained weights.
void check_vocabulary(const EncoderConfig& config, const Tokenizer& tokenizer);

}  // namespace weft
