// What all trained encoders have in common.
#pragma once

#include "weft/models/families/encoder_config.h"
#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Throws ArgumentError where the tokenizer has ids that the model has no rows for, or another
/// padding. Tables of weights that were started from may have more rows than there are ids.
void check_vocabulary(const EncoderConfig& config, const Tokenizer& tokenizer);

}  // namespace weft
