// Consistency of the config and the tokenizer of an encoder.
#pragma once

#include "weft/models/families/encoder_config.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Throws ArgumentError if the tokenizer has more ids than the embedding table of the model has
/// rows, or another padding id. A table from weights to start from may have more rows than the
/// tokenizer has ids.
void check_vocabulary(const EncoderConfig& config, const Tokenizer& tokenizer);

}  // namespace weft
